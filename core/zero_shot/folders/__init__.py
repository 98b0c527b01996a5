"""Folders of pictures: found, labelled or ranked, into a table that goes on after a stop."""
