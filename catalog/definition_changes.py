"""Changes of views and functions, in the JSON of Paimon's REST API: `{"action": "setOption", "key", "value"}` …

Functions raise `UnsupportedFeatureError` for an unknown change, and `TypeError` for JSON that describes no change.

Source: `ViewChange` and `FunctionChange` of Paimon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    FunctionNotFoundError,
    InvalidOptionError,
    PaimonError,
    UnsupportedFeatureError,
    ViewNotFoundError,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member
from paimon_sql.catalog.function import Function, definition_of
from paimon_sql.catalog.view import View

_D = TypeVar("_D", View, Function)


def changed_view(identifier: Identifier, view: View, change: Any) -> View:
    """Return the view after a change.

    Raises `InvalidOptionError` if the view already has the dialect to add, and `ViewNotFoundError` if it does not have
    the dialect to change."""
    return _changed(view, change, f"view {identifier}", _DIALECTS)


def changed_function(identifier: Identifier, function: Function, change: Any) -> Function:
    """Return the function after a change.

    Raises `InvalidOptionError` if the function already has the definition to add, and `FunctionNotFoundError` if it
    does not have the definition to change."""
    return _changed(function, change, f"function {identifier}", _DEFINITIONS)


@dataclass(frozen=True)
class _Parts:
    """The named parts of a view or function, stored in its field `field`.

    In the JSON of a change, `key` has the name of the part.
    """

    noun: str
    field: str
    key: str
    read: Callable[[Any], object]
    missing_error: type[PaimonError]

    def changed(self, verb: str, found: Mapping[str, Any], change: Any, title: str) -> dict[str, Any]:
        """Return the parts after a change with the verb `add`, `update` or `drop`."""
        name = member(change, self.key, str)
        if verb == "add" and name in found:
            raise InvalidOptionError(f"The {title} already has the {self.noun} {name!r}.")
        if verb != "add" and name not in found:
            known = ", ".join(found) or "none"
            raise self.missing_error(f"The {title} has no {self.noun} {name!r}; it has {known}.")
        if verb == "drop":
            return {k: v for k, v in found.items() if k != name}
        return {**found, name: self.read(change)}


_DIALECTS = _Parts("dialect", "dialects", "dialect", lambda n: member(n, "query", str), ViewNotFoundError)
_DEFINITIONS = _Parts(
    "definition", "definitions", "name", lambda n: definition_of(member(n, "definition", dict)), FunctionNotFoundError
)


def _changed(definition: _D, change: Any, title: str, parts: _Parts) -> _D:
    """Return the definition after a change. `title` is the kind and the name of the definition, for errors."""
    options = dict(definition.options)
    verbs: dict[str, str] = {f"{verb}{parts.noun.title()}": verb for verb in ("add", "update", "drop")}
    match member(change, "action", str):
        case "setOption":
            return replace(definition, options={**options, member(change, "key", str): member(change, "value", str)})
        case "removeOption":
            options.pop(member(change, "key", str), None)
            return replace(definition, options=options)
        case "updateComment":
            return replace(definition, comment=member(change, "comment", str | None, None))
        case action if action in verbs:
            found: Mapping[str, Any] = getattr(definition, parts.field)
            changed: dict[str, Any] = {parts.field: parts.changed(verbs[action], found, change, title)}
            return replace(definition, **changed)
        case action:
            known = ", ".join(("setOption", "removeOption", "updateComment", *verbs))
            raise UnsupportedFeatureError(f"The change {action!r} of the {title} is not supported; there are {known}.")
