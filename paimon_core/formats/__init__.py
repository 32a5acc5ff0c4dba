"""Data files behind one registry: what a format can do, reading, writing, statistics. One folder per format.

May import `arrow`, `expressions`, `io`, `spec`, `options`; knows no tables. A new format is a `file_format.FileFormat`
in a folder of its own, and a line in `registry`.
"""
