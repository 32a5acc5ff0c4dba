"""Read and write data files, with their statistics. `registry` has all formats, and each has a folder.

May import `arrow`, `expressions`, `io`, `spec`, `options`, but no tables. A new format needs a `file_format.FileFormat`
in a folder of its own, and a line in `registry`.
"""
