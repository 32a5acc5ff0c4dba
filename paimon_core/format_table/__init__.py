"""Tables of plain files, without snapshots, and taking such files over.

A format table is a folder of CSV, JSON, ORC, Parquet or text files: `folders`, `scan`, `write`, `table`. `migration`
and `iceberg_adoption` make files of format tables and of Iceberg tables those of append tables. May import what tables
may.
"""
