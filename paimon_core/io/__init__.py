"""Storages: the `FileIO` protocol, local disks and everything that fsspec reaches, and what is built on them only. May
import `errors`, `options`, `spec`, `jobs`, `secrets` and `optional_packages`; knows paths, and no tables.
"""
