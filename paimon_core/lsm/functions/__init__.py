"""Aggregate functions: how the values of one column become one value per key."""
