"""Structured streaming: `source*` read tables as streams, `sink*` write streams to tables, `changelog` implements
CHANGES.
"""
