"""Spark's catalog and its tables, partitions, functions and procedures."""
