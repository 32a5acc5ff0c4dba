"""Storages: the `FileIO` protocol, local disks, HDFS, object stores, everything that fsspec supports, and functions on
top of them.

May import `errors`, `options`, `spec`, `jobs`, `secrets` and `optional_packages`. It uses paths only, and does not know
tables.
"""
