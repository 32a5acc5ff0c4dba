"""Changes of views and functions as the JSON of Paimon's REST API has them: `{"action": "setOption", "key", "value"}` …

Functions raise `UnsupportedFeatureError` for an unknown change, and `TypeError` for JSON that describes no change.

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
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member
from paimon_sql.catalog.function import Function, definition_of
from paimon_sql.catalog.view import View

_D = TypeVar("_D", View, Function)


def changed_view(identifier: Identifier, view: View, change: Any) -> View:
    """The view of a name after a change. Raises `InvalidOptionError` for a dialect that it has, `ViewNotFoundError` for
    one that it has not."""
    return _changed(view, change, f"view {identifier}", _OF_VIEWS)


def changed_function(identifier: Identifier, function: Function, change: Any) -> Function:
    """The function of a name after a change. Raises `InvalidOptionError` for a definition that it has,
    `FunctionNotFoundError` for one that it has not."""
    return _changed(function, change, f"function {identifier}", _OF_FUNCTIONS)


def _changed(definition: _D, change: Any, title: str, own: Mapping[str, Callable[[_D, Any, str], _D]]) -> _D:
    """`title` is the kind and the name of what is changed, for errors."""
    common: Mapping[str, Callable[[_D, Any, str], _D]] = {
        "setOption": _set_option,
        "removeOption": _remove_option,
        "updateComment": _update_comment,
    }
    action = member(change, "action", str)
    alter = own.get(action) or common.get(action)
    if alter is None:
        known = ", ".join((*common, *own))
        raise UnsupportedFeatureError(f"The change {action!r} of the {title} is not supported; there are {known}.")
    return alter(definition, change, title)


def _set_option(definition: _D, change: Any, _: str) -> _D:
    added = {member(change, "key", str): member(change, "value", str)}
    return replace(definition, options={**definition.options, **added})


def _remove_option(definition: _D, change: Any, _: str) -> _D:
    key = member(change, "key", str)
    return replace(definition, options={k: v for k, v in definition.options.items() if k != key})


def _update_comment(definition: _D, change: Any, _: str) -> _D:
    return replace(definition, comment=member(change, "comment", str | None, None))


# -- views ------------------------------------------------------------------------------------------------------------
def _add_dialect(view: View, change: Any, title: str) -> View:
    name = member(change, "dialect", str)
    if name in view.dialects:
        raise InvalidOptionError(f"The {title} has the dialect {name!r}.")
    return replace(view, dialects={**view.dialects, name: member(change, "query", str)})


def _update_dialect(view: View, change: Any, title: str) -> View:
    name = _dialect(view, change, title)
    return replace(view, dialects={**view.dialects, name: member(change, "query", str)})


def _drop_dialect(view: View, change: Any, title: str) -> View:
    name = _dialect(view, change, title)
    return replace(view, dialects={k: v for k, v in view.dialects.items() if k != name})


def _dialect(view: View, change: Any, title: str) -> str:
    name: str = member(change, "dialect", str)
    if name not in view.dialects:
        raise ViewNotFoundError(f"The {title} has no dialect {name!r}; it has {', '.join(view.dialects) or 'none'}.")
    return name


_OF_VIEWS: Mapping[str, Callable[[View, Any, str], View]] = {
    "addDialect": _add_dialect,
    "updateDialect": _update_dialect,
    "dropDialect": _drop_dialect,
}


# -- functions --------------------------------------------------------------------------------------------------------
def _add_definition(function: Function, change: Any, title: str) -> Function:
    name = member(change, "name", str)
    if name in function.definitions:
        raise InvalidOptionError(f"The {title} has the definition {name!r}.")
    return _with_definition(function, name, change)


def _update_definition(function: Function, change: Any, title: str) -> Function:
    return _with_definition(function, _definition(function, change, title), change)


def _drop_definition(function: Function, change: Any, title: str) -> Function:
    name = _definition(function, change, title)
    return replace(function, definitions={k: v for k, v in function.definitions.items() if k != name})


def _with_definition(function: Function, name: str, change: Any) -> Function:
    made = definition_of(member(change, "definition", dict))
    return replace(function, definitions={**function.definitions, name: made})


def _definition(function: Function, change: Any, title: str) -> str:
    name: str = member(change, "name", str)
    if name not in function.definitions:
        known = ", ".join(function.definitions) or "none"
        raise FunctionNotFoundError(f"The {title} has no definition {name!r}; it has {known}.")
    return name


_OF_FUNCTIONS: Mapping[str, Callable[[Function, Any, str], Function]] = {
    "addDefinition": _add_definition,
    "updateDefinition": _update_definition,
    "dropDefinition": _drop_definition,
}
