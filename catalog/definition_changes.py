"""Changes of views and functions as the JSON of Paimon's REST API has them: `{"action": "setOption", "key", "value"}` …

Functions raise `UnsupportedFeatureError` for a change that is not known, `TypeError` for what is none.

Source: `ViewChange` and `FunctionChange` of Paimon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from paimon_core.errors import (
    FunctionNotFoundError,
    InvalidOptionError,
    UnsupportedFeatureError,
    ViewNotFoundError,
)
from paimon_core.spec.json_object import member
from paimon_sql.catalog.function import Function, definition_of
from paimon_sql.catalog.view import View

_D = TypeVar("_D", View, Function)


def changed_view(view: View, change: Any) -> View:
    """A view after a change. Raises `InvalidOptionError` for a dialect that it has, `ViewNotFoundError` for one that
    it has not."""
    return _changed(view, change, "view", _OF_VIEWS)


def changed_function(function: Function, change: Any) -> Function:
    """A function after a change. Raises `InvalidOptionError` for a definition that it has, `FunctionNotFoundError` for
    one that it has not."""
    return _changed(function, change, "function", _OF_FUNCTIONS)


def _changed(definition: _D, change: Any, kind: str, own: Mapping[str, Callable[[_D, Any], _D]]) -> _D:
    common: Mapping[str, Callable[[_D, Any], _D]] = {
        "setOption": _set_option,
        "removeOption": _remove_option,
        "updateComment": _update_comment,
    }
    action = member(change, "action", str)
    alter = own.get(action) or common.get(action)
    if alter is None:
        known = ", ".join((*common, *own))
        raise UnsupportedFeatureError(f"The change {action!r} of a {kind} is not supported; there are {known}.")
    return alter(definition, change)


def _set_option(definition: _D, change: Any) -> _D:
    added = {member(change, "key", str): member(change, "value", str)}
    return replace(definition, options={**definition.options, **added})


def _remove_option(definition: _D, change: Any) -> _D:
    key = member(change, "key", str)
    return replace(definition, options={k: v for k, v in definition.options.items() if k != key})


def _update_comment(definition: _D, change: Any) -> _D:
    return replace(definition, comment=member(change, "comment", str | None, None))


# -- views ------------------------------------------------------------------------------------------------------------
def _add_dialect(view: View, change: Any) -> View:
    name = member(change, "dialect", str)
    if name in view.dialects:
        raise InvalidOptionError(f"The view has the dialect {name!r}.")
    return replace(view, dialects={**view.dialects, name: member(change, "query", str)})


def _update_dialect(view: View, change: Any) -> View:
    name = _dialect(view, change)
    return replace(view, dialects={**view.dialects, name: member(change, "query", str)})


def _drop_dialect(view: View, change: Any) -> View:
    name = _dialect(view, change)
    return replace(view, dialects={k: v for k, v in view.dialects.items() if k != name})


def _dialect(view: View, change: Any) -> str:
    name: str = member(change, "dialect", str)
    if name not in view.dialects:
        raise ViewNotFoundError(f"The view has no dialect {name!r}; it has {', '.join(view.dialects) or 'none'}.")
    return name


_OF_VIEWS: Mapping[str, Callable[[View, Any], View]] = {
    "addDialect": _add_dialect,
    "updateDialect": _update_dialect,
    "dropDialect": _drop_dialect,
}


# -- functions --------------------------------------------------------------------------------------------------------
def _add_definition(function: Function, change: Any) -> Function:
    name = member(change, "name", str)
    if name in function.definitions:
        raise InvalidOptionError(f"The function has the definition {name!r}.")
    return _with_definition(function, name, change)


def _update_definition(function: Function, change: Any) -> Function:
    return _with_definition(function, _definition(function, change), change)


def _drop_definition(function: Function, change: Any) -> Function:
    name = _definition(function, change)
    return replace(function, definitions={k: v for k, v in function.definitions.items() if k != name})


def _with_definition(function: Function, name: str, change: Any) -> Function:
    made = definition_of(member(change, "definition", dict))
    return replace(function, definitions={**function.definitions, name: made})


def _definition(function: Function, change: Any) -> str:
    name: str = member(change, "name", str)
    if name not in function.definitions:
        known = ", ".join(function.definitions) or "none"
        raise FunctionNotFoundError(f"The function has no definition {name!r}; it has {known}.")
    return name


_OF_FUNCTIONS: Mapping[str, Callable[[Function, Any], Function]] = {
    "addDefinition": _add_definition,
    "updateDefinition": _update_definition,
    "dropDefinition": _drop_definition,
}
