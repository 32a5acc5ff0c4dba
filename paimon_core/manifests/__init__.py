"""Manifests as columns: the vectorized reader of their entries, and metadata records as files.

May import `formats`, `arrow`, `spec`; bytes in, values out: `store` finds the files.
"""
