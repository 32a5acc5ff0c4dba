"""Sorted runs of primary-key buckets: their keys, merging, merge engines, and picking what to compact. Arrow in, Arrow
out; files are named by their metadata only. May import `arrow`, `options` and `spec`, and knows no storage or table.
"""
