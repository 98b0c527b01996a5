"""A whole model: choices, chart, table."""
