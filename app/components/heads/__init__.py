"""Heads: the mosaic of all heads beside one head, and what of them can be taken away."""
