"""Views of a catalog that keeps them."""

from __future__ import annotations

import uuid
from typing import Any

from paimon_core.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    UnreadableFileError,
    UnsupportedFeatureError,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member
from paimon_sql.catalog.base import SupportsDatabases, SupportsViews
from paimon_sql.catalog.definition_changes import changed_view
from paimon_sql.catalog.rest.messages import decode_identifier
from paimon_sql.catalog.view import View, view_json, view_of
from paimon_sql.server.rest.calls import Call, Node, Routes, page
from paimon_sql.server.rest.definitions import AUDIT, altered, with_details
from paimon_sql.server.rest.tables import page_of_all


def list_views(catalog: SupportsDatabases, call: Call) -> Node:
    return page(call, "views", _with_views(catalog).list_views(call.names[0]), "viewNamePattern")


def list_view_details(catalog: SupportsDatabases, call: Call) -> Node:
    views = _with_views(catalog)
    found = page(call, "viewDetails", views.list_views(call.names[0]), "viewNamePattern")
    return with_details(call, found, "viewDetails", lambda name: _describe(name, views.load_view(name)))


def list_all_views(catalog: SupportsDatabases, call: Call) -> Node:
    return page_of_all(catalog, call, "views", _with_views(catalog).list_views, "viewNamePattern")


def create_view(catalog: SupportsDatabases, call: Call) -> None:
    """With `replace`, of a client of ours, in place of a view that is there; with `create`, too, of one that is not."""
    views, identifier = _with_views(catalog), decode_identifier(call.body.get("identifier"))
    if identifier.database != call.names[0]:
        raise InvalidOptionError("The view is of another database than the address.")
    try:
        view = view_of("the request", member(call.body, "schema", dict))
    except UnreadableFileError as error:
        raise InvalidSchemaError(f"View {identifier} cannot be created: {error.cause}.") from error
    if member(call.body, "replace", bool, False):
        views.replace_view(identifier, view, create=member(call.body, "create", bool, False))
    else:
        views.create_view(identifier, view)


def get_view(catalog: SupportsDatabases, call: Call) -> Node:
    return _describe(call.identifier, _with_views(catalog).load_view(call.identifier))


def alter_view(catalog: SupportsDatabases, call: Call) -> None:
    views = _with_views(catalog)
    view = altered(views.load_view(call.identifier), call, changed_view)
    views.replace_view(call.identifier, view)


def drop_view(catalog: SupportsDatabases, call: Call) -> None:
    _with_views(catalog).drop_view(call.identifier)


def rename_view(catalog: SupportsDatabases, call: Call) -> None:
    source, target = (decode_identifier(call.body.get(key)) for key in ("source", "destination"))
    _with_views(catalog).rename_view(source, target)


def _with_views(catalog: SupportsDatabases) -> SupportsViews:
    if not isinstance(catalog, SupportsViews):
        raise UnsupportedFeatureError("The catalog behind this server keeps no views.")
    return catalog


def _describe(identifier: Identifier, view: View) -> dict[str, Any]:
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, str(identifier))),
        "name": identifier.table,
        "schema": view_json(view),
        **AUDIT,
    }


ROUTES: Routes = {
    ("GET", "databases/*/views"): list_views,
    ("POST", "databases/*/views"): create_view,
    ("GET", "databases/*/view-details"): list_view_details,
    ("GET", "databases/*/views/*"): get_view,
    ("POST", "databases/*/views/*"): alter_view,
    ("DELETE", "databases/*/views/*"): drop_view,
    ("POST", "views/rename"): rename_view,
    ("GET", "views"): list_all_views,
}
