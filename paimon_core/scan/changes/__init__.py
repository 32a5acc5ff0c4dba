"""Incremental queries: choose and read the changes between versions."""
