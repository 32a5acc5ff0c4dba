"""Data files behind one registry: reading, writing, and statistics. One folder per format.

May import `arrow`, `expressions`, `io`, `spec`, `options`, but no tables. A new format needs a `file_format.FileFormat`
in a folder of its own, and a line in `registry`.
"""
