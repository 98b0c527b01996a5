"""Loading a model by its name: from the cache of what needs no hub, a folder, or the hub."""
