"""The catalog with its names in an SQL database, in the tables of Paimon's Java.

`catalog` has the databases, `registry` the tables, `definitions` views and functions, `locks` the locks of tables.
`rows` are the statements on the stored `tables`, `database` runs them in transactions, `settings` reads options.

The only package that imports SQLAlchemy, an extra: `catalog.load` imports it on demand.
"""
