"""Spark's scans: pushed filters and aggregates, plans, and rows that the driver returns itself."""
