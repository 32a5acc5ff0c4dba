"""Incremental queries: selecting and reading changes."""
