"""The files on disk as frozen values: bytes and JSON to values and back, the paths of files, values as text.

Imports `errors` and `options` only; no I/O, no pyarrow. `encodings/` has codings of single values, `hashing/` hashes.
"""
