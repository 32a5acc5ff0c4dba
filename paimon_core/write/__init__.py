"""Rows in, data files and commit messages out; compaction of buckets. Uses store, lsm and formats, but does not
commit."""
