"""Functions of a catalog that keeps them."""

from __future__ import annotations

import uuid
from typing import Any

from paimon_core.errors import (
    InvalidSchemaError,
    UnreadableFileError,
    UnsupportedFeatureError,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member
from paimon_sql.catalog.base import SupportsDatabases, SupportsFunctions
from paimon_sql.catalog.definition_changes import changed_function
from paimon_sql.catalog.function import Function, function_json, function_of
from paimon_sql.server.rest.calls import Call, Node, Routes, page
from paimon_sql.server.rest.definitions import AUDIT, altered, with_details
from paimon_sql.server.rest.tables import page_of_all

_PATTERN = "functionNamePattern"


def list_functions(catalog: SupportsDatabases, call: Call) -> Node:
    return page(call, "functions", _with_functions(catalog).list_functions(call.names[0]), _PATTERN)


def list_function_details(catalog: SupportsDatabases, call: Call) -> Node:
    functions = _with_functions(catalog)
    found = page(call, "functionDetails", functions.list_functions(call.names[0]), _PATTERN)
    return with_details(call, found, "functionDetails", lambda name: _describe(name, functions.load_function(name)))


def list_all_functions(catalog: SupportsDatabases, call: Call) -> Node:
    return page_of_all(catalog, call, "functions", _with_functions(catalog).list_functions, _PATTERN)


def create_function(catalog: SupportsDatabases, call: Call) -> None:
    """With `replace`, of a client of ours, in place of one that is there; with `create`, too, of one that is not."""
    functions, identifier = _with_functions(catalog), Identifier.of(call.names[0], member(call.body, "name", str))
    try:
        function = function_of("the request", dict(call.body))
    except UnreadableFileError as error:
        raise InvalidSchemaError(f"Function {identifier} cannot be created: {error.cause}.") from error
    if member(call.body, "replace", bool, False):
        functions.replace_function(identifier, function, create=member(call.body, "create", bool, False))
    else:
        functions.create_function(identifier, function)


def get_function(catalog: SupportsDatabases, call: Call) -> Node:
    return _describe(call.identifier, _with_functions(catalog).load_function(call.identifier))


def alter_function(catalog: SupportsDatabases, call: Call) -> None:
    functions = _with_functions(catalog)
    function = altered(functions.load_function(call.identifier), call, changed_function)
    functions.replace_function(call.identifier, function)


def drop_function(catalog: SupportsDatabases, call: Call) -> None:
    _with_functions(catalog).drop_function(call.identifier)


def _with_functions(catalog: SupportsDatabases) -> SupportsFunctions:
    if not isinstance(catalog, SupportsFunctions):
        raise UnsupportedFeatureError("The catalog behind this server keeps no functions.")
    return catalog


def _describe(identifier: Identifier, function: Function) -> dict[str, Any]:
    return {
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"function {identifier}")),
        "name": identifier.table,
        **function_json(function),
        **AUDIT,
    }


ROUTES: Routes = {
    ("GET", "databases/*/functions"): list_functions,
    ("POST", "databases/*/functions"): create_function,
    ("GET", "databases/*/function-details"): list_function_details,
    ("GET", "databases/*/functions/*"): get_function,
    ("POST", "databases/*/functions/*"): alter_function,
    ("DELETE", "databases/*/functions/*"): drop_function,
    ("GET", "functions"): list_all_functions,
}
