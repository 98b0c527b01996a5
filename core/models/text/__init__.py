"""Models of texts: loading, tokens, labels, next tokens."""
