"""Patches: a picture with every head's weights for one query, and its downloads."""
