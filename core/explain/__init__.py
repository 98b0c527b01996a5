"""Explanations: which positions a score comes from."""
