"""Tests, mirroring core/ and app/; a package, so that tests can share their tiny models."""
