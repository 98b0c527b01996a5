"""Jobs: work in the background, beside the page that shows how far it is."""
