"""Tables of plain files, without snapshots, and the adoption of such files by other tables.

A format table is a folder of CSV, JSON, ORC, Parquet or text files: `folders`, `scan`, `write`, `table`. `migration`
and `iceberg_adoption` turn files of format tables and of Iceberg tables into files of append tables. May import the
same packages as tables.
"""
