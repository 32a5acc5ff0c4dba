"""Index files as bytes and values: file indexes, global indexes, deletion vectors, hash indexes.

It does not know tables.
"""
