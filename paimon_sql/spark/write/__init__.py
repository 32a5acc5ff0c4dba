"""Spark's writes: rows passed to workers, their commit, and the compaction after it."""
