"""Catalogs, and tables by their paths. `base` defines the protocol of a catalog, and `load` opens one from options.
`schema_files` is shared by the catalogs that define a table by its schema files. May import paimon_core.
"""
