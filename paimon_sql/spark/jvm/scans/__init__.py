"""Scans: what Spark asks of them and pushes down, its own scans of files, statistics, and rows."""
