"""Arrays become pictures: compact payloads, colour tables, and the canvas that draws them."""
