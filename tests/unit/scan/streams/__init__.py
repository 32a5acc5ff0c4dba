"""Streams: positions, starts, admission, and what is read next."""
