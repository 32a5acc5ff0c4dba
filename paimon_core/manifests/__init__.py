"""Manifests as columns: the vectorized reader of their entries, and metadata records as files."""
