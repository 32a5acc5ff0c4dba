"""A table's metadata through its storage: schemas, snapshots, manifests, tags, branches. The layers above get a table
as a `TableStore`. May import lsm and all below it.
"""
