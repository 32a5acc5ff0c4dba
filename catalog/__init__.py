"""Where tables are: catalogs, and tables by their paths. `base` says what a catalog is, `load` makes one of options,
`schema_files` is what catalogs share whose tables are their schema files. May import paimon_core.
"""
