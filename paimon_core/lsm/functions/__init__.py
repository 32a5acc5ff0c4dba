"""Aggregate functions, which merge the values of a column into one value per key."""
