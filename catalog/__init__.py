"""Catalogs, and tables by their paths. `base` defines the protocol of a catalog, and `load` opens one from options.
`named_tables` has the statements on tables for all catalogs, over a registry of names; `schema_files` has the tables
that are defined by schema files, and `definitions` views and functions. May import paimon_core.
"""
