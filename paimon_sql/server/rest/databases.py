"""The configuration of a catalog, and its databases."""

from __future__ import annotations

import uuid

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.json_object import member, text_list, text_map
from paimon_sql.catalog.base import SupportsDatabaseProperties, SupportsDatabases
from paimon_sql.server.rest.calls import Node, RestCall, Routes, page

_LOCATION = "location"


def list_databases(catalog: SupportsDatabases, call: RestCall) -> Node:
    return page(call, "databases", catalog.list_databases(), "databaseNamePattern")


def create_database(catalog: SupportsDatabases, call: RestCall) -> None:
    catalog.create_database(member(call.body, "name", str), text_map(call.body, "options"))


def get_database(catalog: SupportsDatabases, call: RestCall) -> Node:
    name = call.names[0]
    found = catalog.database_properties(name)
    location = found.pop(_LOCATION, "")
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{location}#{name}")),
        "name": name,
        "location": location,
        "options": found,
        "owner": found.get("owner", ""),
        "createdAt": 0,
        "createdBy": "",
        "updatedAt": 0,
        "updatedBy": "",
    }


def alter_database(catalog: SupportsDatabases, call: RestCall) -> Node:
    if not isinstance(catalog, SupportsDatabaseProperties):
        raise UnsupportedFeatureError(
            "The catalog of this server does not store properties of databases. Leave them out."
        )
    updates, removals = text_map(call.body, "updates"), text_list(call.body, "removals")
    before = catalog.database_properties(call.names[0])
    catalog.alter_database(call.names[0], updates, removals)
    there = [key for key in removals if key in before]
    return {"removed": there, "updated": list(updates), "missing": [k for k in removals if k not in there]}


def drop_database(catalog: SupportsDatabases, call: RestCall) -> None:
    """Drop a database with everything in it, unless the client asks for an error if it is not empty. This is the API's
    default.
    """
    catalog.drop_database(call.names[0], cascade=call.parameters.get("cascade", "true") != "false")


ROUTES: Routes = {
    ("GET", "databases"): list_databases,
    ("POST", "databases"): create_database,
    ("GET", "databases/*"): get_database,
    ("POST", "databases/*"): alter_database,
    ("DELETE", "databases/*"): drop_database,
}
