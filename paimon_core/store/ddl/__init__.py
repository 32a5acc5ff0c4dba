"""Schemas and their changes, and the rules for options: pure decisions."""
