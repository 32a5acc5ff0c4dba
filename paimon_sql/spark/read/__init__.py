"""Spark's scans: pushed filters and aggregates, plans, and the rows that the driver has."""
