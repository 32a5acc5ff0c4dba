"""Merge engines: how rows of one key become one. Each is a function over the rows of a key range."""
