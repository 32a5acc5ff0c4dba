"""Incremental queries: which changes are read, and reading them."""
