"""The REST catalog: names, schemas and snapshots at a server that speaks Paimon's open API. `catalog` is the catalog,
`client` speaks HTTP, `messages` is the JSON that client and server share, `paths` the addresses. `iceberg` and
`iceberg_updates` speak Iceberg's REST API instead, for tables with metadata for its readers.

Source: `rest-catalog-open-api.yaml` of Paimon, and its `RESTApi`.
"""
