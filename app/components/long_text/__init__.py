"""Long texts: the map that zooms, exact rows, files."""
