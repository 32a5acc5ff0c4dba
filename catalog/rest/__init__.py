"""The REST catalog: a server with Paimon's open API has the names, schemas and snapshots.

`catalog` has the databases, `registry` the tables, `staging` the changes of tables that come with rows, `definitions`
views and functions. `server` makes the requests, `client` speaks HTTP, `messages` is the JSON that client and server
share, `paths` the addresses. `iceberg`, `iceberg_calls` and `iceberg_updates` speak Iceberg's REST API instead, for
tables with metadata for its readers.

Source: `rest-catalog-open-api.yaml` of Paimon, and its `RESTApi`.
"""
