"""Replacements for what newer versions of Spark do themselves: each module is a variant of a hook for older
versions.
"""
