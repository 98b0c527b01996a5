"""Files: weights, folders and the hub, and what is wrong with them."""
