"""Models of pictures: loading, pixels, patches, windows."""
