"""The options of every command. Light, so that help comes at once: nothing in here needs torch."""
