"""Compaction of buckets and row ranges, and sorting: the steps, and the jobs that run them."""
