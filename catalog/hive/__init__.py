"""A catalog that keeps names in a Hive metastore, as Paimon's Java stores them there.

`settings` and `hive_site` read options, `transport` opens connections, `metastore` makes calls, `entries`, `databases`,
`format_tables`, `view_entries`, `spark_views` and `types` define the entries of the metastore. `views`, `syncing`,
`locks`, `renames` and `partitions` do what their names say. `kerberos` is SASL below Thrift; `iceberg` registers tables
for readers of Iceberg. The only package that imports Thrift, an extra: `catalog.load` imports it on demand.
"""
