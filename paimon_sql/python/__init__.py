"""Tables in Python without Spark: catalogs, scans as values, writes. Nothing here imports PySpark or starts a JVM.

catalog      `open_catalog`, `open_table`: names of tables
table        one table; `definitions` are its columns and options
dataset      a scan as pyarrow's dataset; `arrow_filters` reads the filters that are pushed into it
arguments    the types of the arguments of public methods
expressions  expressions of pyarrow.compute as conditions
queries      SQL on DuckDB
following    batches of changes that a program acknowledges
scan         which rows are read; `versions` chooses the version, `reading` reads splits
searching    the rows with the nearest vectors
writing      appends, upserts, overwrites; `row_changes` deletes and updates; `assignment` casts the rows of a program
merging      MERGE; `matching` joins rows, `changed_rows` writes changes
calls        procedures; `procedure_threads` runs their jobs, `executor` runs jobs of tables on threads
where/       conditions in SQL over Arrow columns
"""
