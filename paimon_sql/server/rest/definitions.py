"""Views and functions of a catalog that supports them: one set of requests for both."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, Generic, TypeVar

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    PaimonError,
    UnreadableFileError,
    UnsupportedFeatureError,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member
from paimon_sql.catalog.base import SupportsDatabases, SupportsFunctions, SupportsViews
from paimon_sql.catalog.definition_changes import changed_function, changed_view
from paimon_sql.catalog.function import Function, function_json, function_of
from paimon_sql.catalog.rest.messages import decode_identifier
from paimon_sql.catalog.view import View, view_json, view_of
from paimon_sql.server.rest.calls import Node, RestCall, Routes, page
from paimon_sql.server.rest.tables import page_of_all

D = TypeVar("D", View, Function)

_AUDIT: Node = {"owner": "", "createdAt": 0, "createdBy": "", "updatedAt": 0, "updatedBy": ""}


@dataclass(frozen=True)
class DefinitionCalls(Generic[D]):
    """The operations of a catalog on its views, or on its functions."""

    names: Callable[[str], list[str]]
    load: Callable[[Identifier], D]
    create: Callable[[Identifier, D], None]
    replace: Callable[..., None]
    drop: Callable[[Identifier], None]


@dataclass(frozen=True)
class RequestKind(Generic[D]):
    """The differences between requests about views and about functions: how to read the name and the definition of a
    new one, how to change it, and how to describe it in an answer.
    """

    name: str
    of: Callable[[SupportsDatabases], DefinitionCalls[D]]  # raises `UnsupportedFeatureError`
    identifier: Callable[[RestCall], Identifier]
    definition: Callable[[RestCall], D]
    changed: Callable[[Identifier, D, Any], D]
    described: Callable[[Identifier, D], dict[str, Any]]

    @property
    def pattern(self) -> str:
        """Return the name of the parameter that restricts the names of a list."""
        return f"{self.name}NamePattern"


def _list(kind: RequestKind[D], catalog: SupportsDatabases, call: RestCall) -> Node:
    return page(call, f"{kind.name}s", kind.of(catalog).names(call.names[0]), kind.pattern)


def _list_all(kind: RequestKind[D], catalog: SupportsDatabases, call: RestCall) -> Node:
    return page_of_all(catalog, call, f"{kind.name}s", kind.of(catalog).names, kind.pattern)


def _list_details(kind: RequestKind[D], catalog: SupportsDatabases, call: RestCall) -> Node:
    """Return a page of names as a page of descriptions. Definitions that were dropped meanwhile or cannot be read are
    left out.
    """
    kept, key = kind.of(catalog), f"{kind.name}Details"
    found = page(call, key, kept.names(call.names[0]), kind.pattern)
    details = []
    for name in found[key]:
        identifier = Identifier(call.names[0], name)
        try:
            details.append(kind.described(identifier, kept.load(identifier)))
        except PaimonError:
            continue
    return {**found, key: details}


def _create(kind: RequestKind[D], catalog: SupportsDatabases, call: RestCall) -> None:
    """Create a definition. Clients of this package may send `replace`, which replaces an existing definition. With
    `create` in addition, a missing definition is created.
    """
    kept, identifier = kind.of(catalog), kind.identifier(call)
    try:
        definition = kind.definition(call)
    except UnreadableFileError as error:
        raise InvalidSchemaError(f"{kind.name.title()} {identifier} cannot be created: {error.cause}.") from error
    if member(call.body, "replace", bool, False):
        kept.replace(identifier, definition, create=member(call.body, "create", bool, False))
    else:
        kept.create(identifier, definition)


def _get(kind: RequestKind[D], catalog: SupportsDatabases, call: RestCall) -> Node:
    return kind.described(call.identifier, kind.of(catalog).load(call.identifier))


def _alter(kind: RequestKind[D], catalog: SupportsDatabases, call: RestCall) -> None:
    kept = kind.of(catalog)
    change = partial(kind.changed, call.identifier)
    kept.replace(call.identifier, reduce(change, member(call.body, "changes", list), kept.load(call.identifier)))


def _drop(kind: RequestKind[D], catalog: SupportsDatabases, call: RestCall) -> None:
    kind.of(catalog).drop(call.identifier)


# -- views ------------------------------------------------------------------------------------------------------------
def _with_views(catalog: SupportsDatabases) -> SupportsViews:
    if not isinstance(catalog, SupportsViews):
        raise UnsupportedFeatureError("The catalog of this server does not support views. Use a catalog that does.")
    return catalog


def _views(catalog: SupportsDatabases) -> DefinitionCalls[View]:
    views = _with_views(catalog)
    return DefinitionCalls(views.list_views, views.load_view, views.create_view, views.replace_view, views.drop_view)


def _view_identifier(call: RestCall) -> Identifier:
    identifier = decode_identifier(call.body.get("identifier"))
    if identifier.database != call.names[0]:
        raise InvalidOptionError(
            "The view's database differs from the address. Send the request to the view's own database."
        )
    return identifier


def _describe_view(identifier: Identifier, view: View) -> dict[str, Any]:
    made = str(uuid.uuid5(uuid.NAMESPACE_URL, str(identifier)))
    return {"id": made, "name": identifier.table, "schema": view_json(view), **_AUDIT}


def _rename_view(catalog: SupportsDatabases, call: RestCall) -> None:
    source, target = (decode_identifier(call.body.get(key)) for key in ("source", "destination"))
    _with_views(catalog).rename_view(source, target)


# -- functions --------------------------------------------------------------------------------------------------------
def _functions(catalog: SupportsDatabases) -> DefinitionCalls[Function]:
    if not isinstance(catalog, SupportsFunctions):
        raise UnsupportedFeatureError("The catalog of this server does not support functions. Use a catalog that does.")
    found = (catalog.list_functions, catalog.load_function)
    return DefinitionCalls(*found, catalog.create_function, catalog.replace_function, catalog.drop_function)


def _describe_function(identifier: Identifier, function: Function) -> dict[str, Any]:
    made = str(uuid.uuid5(uuid.NAMESPACE_URL, f"function {identifier}"))
    return {"uuid": made, "name": identifier.table, **function_json(function), **_AUDIT}


_VIEWS: RequestKind[View] = RequestKind(
    "view",
    _views,
    _view_identifier,
    lambda call: view_of("the request", member(call.body, "schema", dict)),
    changed_view,
    _describe_view,
)
_FUNCTIONS: RequestKind[Function] = RequestKind(
    "function",
    _functions,
    lambda call: Identifier.of(call.names[0], member(call.body, "name", str)),
    lambda call: function_of("the request", dict(call.body)),
    changed_function,
    _describe_function,
)


def _routes(kind: RequestKind[D]) -> Routes:
    every, each = f"databases/*/{kind.name}s", f"databases/*/{kind.name}s/*"
    return {
        ("GET", every): partial(_list, kind),
        ("POST", every): partial(_create, kind),
        ("GET", f"databases/*/{kind.name}-details"): partial(_list_details, kind),
        ("GET", each): partial(_get, kind),
        ("POST", each): partial(_alter, kind),
        ("DELETE", each): partial(_drop, kind),
        ("GET", f"{kind.name}s"): partial(_list_all, kind),
    }


ROUTES: Routes = {**_routes(_VIEWS), ("POST", "views/rename"): _rename_view, **_routes(_FUNCTIONS)}
