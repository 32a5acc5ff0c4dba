"""`CALL sys.migrate_table` and `sys.migrate_database` (`calls`): files of other tables become append tables.

One module a kind of source: `files` of a folder, `tables` of the session's catalog and format tables, `iceberg`.
`runs` finds what a stopped run has done.
"""
