"""A whole model under every mechanism: what it costs, and which layers bear it."""
