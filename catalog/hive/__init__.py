"""The catalog whose names are in a Hive metastore, as Paimon's Java stores them there.

`settings` and `hive_site` read options, `transport` opens connections, `metastore` makes calls, `entries`, `databases`,
`format_tables`, `view_entries`, `spark_views` and `types` say what things are in the metastore; `views`, `syncing`,
`locks`, `renames` and `partitions` are what their names say; `kerberos` is SASL below Thrift, `iceberg` names tables
for readers of Iceberg. The only package that imports Thrift, an extra: `catalog.load` imports it when it is asked for.
"""
