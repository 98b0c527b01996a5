"""Components: what several pages show."""
