"""What views and functions have in common at the server: pages with details, changes, and what nobody keeps of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from paimon_core.errors import PaimonError, UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member
from paimon_sql.catalog.function import Function
from paimon_sql.catalog.view import View
from paimon_sql.server.rest.calls import Call, Node

D = TypeVar("D", View, Function)

AUDIT: Node = {"owner": "", "createdAt": 0, "createdBy": "", "updatedAt": 0, "updatedBy": ""}


def with_details(call: Call, found: Node, key: str, describe: Callable[[Identifier], Node]) -> Node:
    """A page of names as one of their descriptions. What is dropped meanwhile, or cannot be read, is left out."""
    details = []
    for name in found[key]:
        try:
            details.append(describe(Identifier(call.names[0], name)))
        except PaimonError:
            continue
    return {**found, key: details}


def altered(definition: D, call: Call, kind: str, own: Mapping[str, Callable[[D, Any], D]]) -> D:
    """A definition after the changes of a request; `own` are those that only its kind has.

    Raises `UnsupportedFeatureError` for a change that is not known, `TypeError` for what is none.
    """
    common: Mapping[str, Callable[[D, Any], D]] = {
        "setOption": _set_option,
        "removeOption": _remove_option,
        "updateComment": _update_comment,
    }
    for change in member(call.body, "changes", list):
        action = member(change, "action", str)
        alter = own.get(action) or common.get(action)
        if alter is None:
            raise UnsupportedFeatureError(f"The change {action!r} of a {kind} is not supported.")
        definition = alter(definition, change)
    return definition


def _set_option(definition: D, change: Any) -> D:
    added = {member(change, "key", str): member(change, "value", str)}
    return replace(definition, options={**definition.options, **added})


def _remove_option(definition: D, change: Any) -> D:
    key = member(change, "key", str)
    return replace(definition, options={k: v for k, v in definition.options.items() if k != key})


def _update_comment(definition: D, change: Any) -> D:
    return replace(definition, comment=member(change, "comment", str | None, None))
