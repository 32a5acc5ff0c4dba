"""Scans: the filters and aggregates that Spark pushes down, Spark's own scans of files, statistics, and rows."""
