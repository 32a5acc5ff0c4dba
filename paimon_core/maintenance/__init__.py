"""Upkeep of a table: tags, branches, rollback, expiry of snapshots, partitions and consumers. It also deletes files
that are in no version any more (`release`), and finds such files that remained (`orphans/`). May import `commit` and
what is below it.
"""
