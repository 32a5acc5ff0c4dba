"""The files on disk as frozen values: bytes and JSON are decoded to values and encoded again. Also the paths of files,
and texts of values.

Imports `errors` and `options` only; no I/O, no pyarrow. `encodings/` has codings of single values, `hashing/` hashes.
"""
