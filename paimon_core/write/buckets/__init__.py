"""The assignment of rows to buckets (fixed, dynamic, postponed, across partitions), and moves of rows to other
buckets.
"""
