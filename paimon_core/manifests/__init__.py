"""Manifests as columns: the vectorized reader of their entries, and files of metadata records.

May import `formats`, `arrow`, `spec`. It converts between bytes and values; `store` reads and writes the files.
"""
