"""Spark's writes: rows handed to workers, their commit, and the compaction behind it."""
