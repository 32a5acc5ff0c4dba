"""`CALL sys.migrate_table` and `sys.migrate_database` (`calls`): files of other tables become append tables.

Each kind of source has a module: `files` for a folder, `tables` for the session's catalog and format tables, `iceberg`.
`runs` finds the steps that a stopped run has finished.
"""
