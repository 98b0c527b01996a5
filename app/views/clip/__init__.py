"""The CLIP page: inputs, scores, matrix, reasons, retrieval."""
