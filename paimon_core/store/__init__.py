"""A table's metadata through its storage: schemas, snapshots, manifests, tags, branches. `TableStore` is the table that
the layers above are given. May import lsm and all below it.
"""
