"""What the canvas in the browser draws: views and scenes in, compact data out."""
