"""What a sweep found: growth, crossovers, standings, a verdict."""
