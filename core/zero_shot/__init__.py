"""Zero-shot: labels and templates in, the scores of pictures against them out."""
