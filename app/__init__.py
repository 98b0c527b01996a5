"""Headlight's pages: widgets and words around what core/ computes; no tensor arithmetic in here."""
