"""What views and functions have in common at the server: pages with details, changes, and what nobody keeps of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, TypeVar

from paimon_core.errors import PaimonError
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


def altered(definition: D, call: Call, change: Callable[[Identifier, D, Any], D]) -> D:
    """A definition after the changes of a request. Raises as `change`, which makes one."""
    return reduce(partial(change, call.identifier), member(call.body, "changes", list), definition)
