"""Colour scales, and how values lie on them."""
