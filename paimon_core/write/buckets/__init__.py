"""The buckets of rows: fixed, dynamic, postponed, across partitions, and moves of rows to other buckets."""
