"""Structured streaming: tables as sources and as sinks of Spark's streaming queries."""
