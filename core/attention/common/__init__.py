"""What mechanisms share: inputs, masks, shapes, half precision, patterns of pairs."""
