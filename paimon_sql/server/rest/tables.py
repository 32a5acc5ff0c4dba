"""Tables: their names and definitions."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from paimon_core.errors import (
    CommitConflictError,
    DatabaseNotFoundError,
    InvalidOptionError,
    PaimonError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.io.load import normalize
from paimon_core.object_table import is_object_table, object_location
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member
from paimon_core.spec.schema import TableSchema, encode_schema
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.schemas import load_schema, schema_ids
from paimon_core.table import Table
from paimon_sql.catalog.base import SupportsDatabases, SupportsRegistration
from paimon_sql.catalog.rest.messages import (
    decode_changes,
    decode_identifier,
    decode_schema_body,
    encode_identifier,
    encode_schema_body,
)
from paimon_sql.server.rest.calls import Node, RestCall, Routes, page


def list_tables(catalog: SupportsDatabases, call: RestCall) -> Node:
    return page(call, "tables", catalog.list_tables(call.names[0]), "tableNamePattern")


def list_table_details(catalog: SupportsDatabases, call: RestCall) -> Node:
    """Return a page of descriptions. A table that is dropped meanwhile, or that cannot be read, is left out."""
    found = page(call, "tableDetails", catalog.list_tables(call.names[0]), "tableNamePattern")
    kind = call.parameters.get("tableType")
    details = []
    for name in found["tableDetails"]:
        try:
            table = describe(catalog.load_table(Identifier(call.names[0], name)))
        except PaimonError:
            continue
        if not kind or table["schema"]["options"].get("type", "table") == kind:
            details.append(table)
    return {**found, "tableDetails": details}


def list_all_tables(catalog: SupportsDatabases, call: RestCall) -> Node:
    return page_of_all(catalog, call, "tables", catalog.list_tables, "tableNamePattern")


def page_of_all(
    catalog: SupportsDatabases, call: RestCall, key: str, list_names: Callable[[str], Sequence[str]], pattern: str
) -> Node:
    """Return a page of the tables, views or functions of all databases; `list_names` lists the names in a database."""
    parameters = {k: v for k, v in call.parameters.items() if k == "databaseNamePattern"}
    databases = page(RestCall((), parameters, {}), "databases", catalog.list_databases(), "databaseNamePattern")
    plain = {k: v for k, v in call.parameters.items() if k == pattern}
    every: dict[str, Node] = {}
    for database in databases["databases"]:
        try:
            names = list_names(database)
        except DatabaseNotFoundError:
            continue
        matching = [n for n in names if page(RestCall((), plain, {}), key, [n], pattern)[key]]
        every.update({f"{database}\x00{n}": encode_identifier(Identifier(database, n)) for n in matching})
    found = page(call, key, sorted(every))
    return {**found, key: [every[name] for name in found[key]]}


def create_table(catalog: SupportsDatabases, call: RestCall) -> None:
    identifier = decode_identifier(call.body.get("identifier"))
    if identifier.database != call.names[0]:
        raise InvalidOptionError(
            "The table's database differs from the address. Send the request to the table's own database."
        )
    catalog.create_table(identifier, _new_schema(call.body))


def get_table(catalog: SupportsDatabases, call: RestCall) -> Node:
    return describe(catalog.load_table(call.identifier))


def get_table_by_id(catalog: SupportsDatabases, call: RestCall) -> Node:
    for database in catalog.list_databases():
        for name in catalog.list_tables(database):
            try:
                table = catalog.load_table(Identifier(database, name))
            except PaimonError:
                continue
            if table_id(table) == call.names[0]:
                return describe(table)
    raise TableNotFoundError("There is no table of that id.")


def alter_table(catalog: SupportsDatabases, call: RestCall) -> None:
    catalog.alter_table(call.identifier, decode_changes(call.body))


def replace_table(catalog: SupportsDatabases, call: RestCall) -> None:
    """Replace a table's definition; the partitioning must stay the same. The rows stay until the client replaces them
    by its next commit. Raises `CommitConflictError` if `schemaId` is given and is not the number of the next schema."""
    staged = catalog.stage_replace(call.identifier, _new_schema(call.body))
    if staged.is_separate:
        staged.discard()
        raise UnsupportedFeatureError(
            "A table cannot be replaced by one with another partitioning: drop and create it."
        )
    expected = member(call.body, "schemaId", int | None, None)
    if expected is not None and staged.table.schema.id != expected:
        raise CommitConflictError(f"Table {call.identifier} was altered meanwhile, so it was not replaced: try again.")
    staged.publish()


def drop_table(catalog: SupportsDatabases, call: RestCall) -> None:
    catalog.drop_table(call.identifier)


def rename_table(catalog: SupportsDatabases, call: RestCall) -> None:
    catalog.rename_table(decode_identifier(call.body.get("source")), decode_identifier(call.body.get("destination")))


def register_table(catalog: SupportsDatabases, call: RestCall) -> None:
    """Register the folder of a table that is missing in the catalog. The folder must be at the table's path in this
    catalog.
    """
    if not isinstance(catalog, SupportsRegistration):
        raise UnsupportedFeatureError(
            "The catalog of this server finds its tables by their folders: it cannot register others."
        )
    identifier = decode_identifier(call.body.get("identifier"))
    expected = f"{normalize(catalog.database_properties(call.names[0])['location'])}/{identifier.table}"
    if identifier.database != call.names[0] or normalize(member(call.body, "path", str)) != expected:
        raise InvalidOptionError(f"Table {identifier} can only be registered in its folder, {expected}.")
    catalog.register_table(identifier)


def describe(table: Table) -> dict[str, Any]:
    """Return the API's description of a table."""
    schema, store = table.schema, table.store
    first = _first_schema(table)
    return {
        "id": _id(store.root, first),
        "database": store.identifier.database,
        "name": table.identifier.name,
        "path": object_location(store) if is_object_table(schema.options) else store.root,
        "isExternal": False,
        "schemaId": schema.id,
        "schema": encode_schema_body(schema),
        "owner": schema.options.get("owner", ""),
        "createdAt": first.time_millis,
        "createdBy": "",
        "updatedAt": schema.time_millis,
        "updatedBy": "",
    }


def table_id(table: Table) -> str:
    """Return a table's id, which is made from its folder and first schema: a new table in the same folder has another
    id.
    """
    return _id(table.store.root, _first_schema(table))


def _id(root: str, first: TableSchema) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{root}#{hashlib.sha256(encode_schema(first)).hexdigest()}"))


def _first_schema(table: Table) -> TableSchema:
    if table.schema.id == 0 and not table.store.branch:
        return table.schema
    io, root = table.store.io, table.store.root
    ids = schema_ids(io, root)
    return load_schema(io, root, ids[0]) if ids else table.schema


def _new_schema(body: Node) -> TableSchema:
    given = decode_schema_body(body.get("schema"))
    return new_table_schema(given.fields, given.partition_keys, given.options, given.comment, given.primary_keys)


ROUTES: Routes = {
    ("GET", "databases/*/tables"): list_tables,
    ("POST", "databases/*/tables"): create_table,
    ("GET", "databases/*/table-details"): list_table_details,
    ("POST", "databases/*/register"): register_table,
    ("GET", "databases/*/tables/*"): get_table,
    ("POST", "databases/*/tables/*"): alter_table,
    ("POST", "databases/*/tables/*/replace"): replace_table,
    ("DELETE", "databases/*/tables/*"): drop_table,
    ("POST", "tables/rename"): rename_table,
    ("GET", "tables/id/*"): get_table_by_id,
    ("GET", "tables"): list_all_tables,
}
