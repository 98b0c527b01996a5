"""Views: one room a page."""
