"""`CALL sys.*` for functions, and dialects of views."""

from __future__ import annotations

import json
from typing import Any

from paimon_core.errors import InvalidOptionError, UnreadableFileError, UnsupportedFeatureError
from paimon_core.spec.json_object import decode_json_object
from paimon_sql.catalog.base import SupportsFunctions, SupportsViews
from paimon_sql.catalog.definition_changes import changed_function, changed_view
from paimon_sql.catalog.function import function_of
from paimon_sql.procedures.arguments import given, table_options
from paimon_sql.procedures.registry import ProcedureContext, Rows, procedure

_ENGINE = "spark"  # the default dialect
_ACTIONS = {"add": "addDialect", "update": "updateDialect", "drop": "dropDialect"}


@procedure(result="boolean")
def create_function(
    context: ProcedureContext,
    function: str,
    inputParams: str,
    returnParams: str,
    deterministic: bool | None = None,
    comment: str | None = None,
    options: str | None = None,
) -> Rows:
    """Create a function without a definition, which `alter_function` adds. Its parameters and results are JSON:
    `[{"id": 0, "name": "length", "type": "INT"}]`. `options` are `k=v,k2=v2`.

    The result is true.
    """
    node = {
        "inputParams": _json("inputParams", inputParams),
        "returnParams": _json("returnParams", returnParams),
        "deterministic": deterministic is not False,
        "comment": given(comment),
        "options": table_options(options or ""),
    }
    try:
        made = function_of(repr(function), node)
    except UnreadableFileError as error:
        raise InvalidOptionError(f"Function {function!r} cannot be created: {error.cause}.") from error
    _functions(context, function).create_function(context.identifier(function), made)
    return [(True,)]


@procedure(result="boolean")
def alter_function(context: ProcedureContext, function: str, change: str) -> Rows:
    """Change a function. The change is JSON: `{"action": "addDefinition", "name": "spark", "definition":
    {"type": "sql", "definition": "length * width"}}`; others are `updateDefinition`,
    `dropDefinition`, `setOption`, `removeOption` and `updateComment`.

    The result is true.
    """
    functions, identifier = _functions(context, function), context.identifier(function)
    old = functions.load_function(identifier)
    try:
        new = changed_function(identifier, old, decode_json_object("change", change.encode("utf-8", "surrogatepass")))
    except (UnreadableFileError, TypeError) as error:
        why = error.cause if isinstance(error, UnreadableFileError) else error
        raise InvalidOptionError(
            f"Function {function!r} is not changed: {change!r} is not a valid change ({why})."
        ) from error
    functions.replace_function(identifier, new)
    return [(True,)]


@procedure(result="boolean")
def drop_function(context: ProcedureContext, function: str) -> Rows:
    """Drop a function.

    The result is true.
    """
    _functions(context, function).drop_function(context.identifier(function))
    return [(True,)]


@procedure(result="boolean")
def alter_view_dialect(
    context: ProcedureContext, view: str, action: str, engine: str | None = None, query: str | None = None
) -> Rows:
    """Add, update or drop (`action`) the query that a view has for an engine (default: `spark`).

    The result is true.
    """
    if not isinstance(context.catalog, SupportsViews):
        raise UnsupportedFeatureError(
            f"View {view!r} cannot be altered: its catalog does not support views. Use a catalog that does."
        )
    if action not in _ACTIONS:
        raise InvalidOptionError(f"action cannot be {action!r}: use one of {', '.join(_ACTIONS)}.")
    text = given(query)
    if text is None and action != "drop":
        raise InvalidOptionError(f"query is missing: the action {action!r} needs the text of a query.")
    identifier = context.identifier(view)
    change = {"action": _ACTIONS[action], "dialect": given(engine) or _ENGINE, "query": text}
    context.catalog.replace_view(identifier, changed_view(identifier, context.catalog.load_view(identifier), change))
    return [(True,)]


def _functions(context: ProcedureContext, function: str) -> SupportsFunctions:
    if isinstance(context.catalog, SupportsFunctions):
        return context.catalog
    raise UnsupportedFeatureError(
        f"Function {function!r} cannot be used: its catalog does not support functions. Use a catalog that does."
    )


def _json(argument: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidOptionError(
            f"{argument} cannot be {text!r}: use JSON such as "
            """'[{"id": 0, "name": "length", "type": "INT"}]'."""
        ) from error
