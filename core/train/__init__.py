"""Training clip-mini: `python -m core train clip-mini`."""
