"""A catalog with its names in a Hive metastore, in the form of Paimon's Java.

`catalog` has the databases, `registry` the tables, `views` the views, `warehouse` their common parts. `syncing` and
`partitions` keep entries in line with tables, `locks` locks them. `entries`, `databases`, `format_tables`,
`view_entries`, `spark_views` and `types` are pure functions of the metastore's entries. `metastore` makes calls over
`transport` and `kerberos`; `settings` and `hive_site` read options. `iceberg` registers tables for readers of Iceberg.

The only package that imports Thrift, an extra: `catalog.load` imports it on demand.
"""
