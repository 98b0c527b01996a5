"""The Lab page: a sweep over lengths, and a whole model under every mechanism."""
