"""Structured streaming: `source*` read tables as streams, `sink*` write to them, `changelog` answers CHANGES."""
