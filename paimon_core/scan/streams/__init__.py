"""Streams: the next part of a table for a repeated reader, its start, and its size. This folder does not depend on an
engine."""
