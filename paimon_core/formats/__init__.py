"""Data files behind one registry: what a format can do, reading, writing, statistics. One folder per format."""
