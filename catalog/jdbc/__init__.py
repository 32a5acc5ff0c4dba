"""The catalog that keeps its names in an SQL database, in the tables of Paimon's Java.

`settings` reads options, `database` runs transactions, `tables` and `rows` are what is stored, `locks` the locks of
tables. The only package that imports SQLAlchemy, an extra: `catalog.load` imports it when it is asked for.
"""
