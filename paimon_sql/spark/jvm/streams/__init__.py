"""Structured streaming in the JVM: what sinks and sources of Spark are made of."""
