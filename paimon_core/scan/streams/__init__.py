"""Streams: where a repeated reader of a table starts, and what its next batch has.

This folder does not depend on an engine."""
