"""Structured streaming in the JVM: Spark's objects for sinks and sources."""
