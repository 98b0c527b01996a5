"""How clip-mini is trained: data, features, lessons, losses, measures."""
