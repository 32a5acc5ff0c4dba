"""The allow-lists of `--read-only`: requests and statements that are known to only read, for each protocol. All others
fail.
"""
