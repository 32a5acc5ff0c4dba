"""Upkeep of a table: tags, branches, rollback, expiry of snapshots, partitions and consumers, and the deletion of files
that no version needs (`release`; `orphans/` where nobody did). May import `commit` and what is below it.
"""
