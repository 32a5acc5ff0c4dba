"""Tables in Python without Spark: catalogs, scans as values, writes. Nothing here imports PySpark or starts a JVM.

catalog  `open_catalog`, `open_table`; names and definitions of tables
table    one table
"""
