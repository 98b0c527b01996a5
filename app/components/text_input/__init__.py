"""Text input: what was typed and not run yet."""
