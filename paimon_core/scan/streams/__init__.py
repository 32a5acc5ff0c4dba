"""Streams: the start of a repeated reader of a table, and the content of its next batch.

This folder does not depend on an engine."""
