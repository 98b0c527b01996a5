"""A sweep: choices, inputs, curves, maps, table."""
