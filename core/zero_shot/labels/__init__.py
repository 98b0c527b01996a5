"""Labels and templates: lists, files, what a model reads alike or cuts."""
