"""Sorted runs of primary-key buckets: their keys, merging, merge engines, and the choice of files to compact.

Arrow in, Arrow out; files are known by their metadata only. May import `arrow`, `options` and `spec`, but no storage
or table.
"""
