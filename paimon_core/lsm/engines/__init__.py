"""Merge engines, which merge the rows of a key into one. Each is a function over the rows of a key range."""
