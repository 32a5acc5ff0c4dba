"""Streams: what a repeated reader reads next of a table, where it starts, and how much at once. No engine is here."""
