"""Structured streaming: `source*` read tables as streams, `changelog` answers CHANGES."""
