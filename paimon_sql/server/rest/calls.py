"""The arguments of a handler, and parts of its answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.catalog.rest.messages import MOST_RESULTS

Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RestCall:
    """A request: the names in its address, its query parameters, and its JSON."""

    names: tuple[str, ...]
    parameters: Mapping[str, str]
    body: Node

    @property
    def identifier(self) -> Identifier:
        """Return the table or view of the first two names in the address. Raises `InvalidNameError`."""
        return Identifier.of(self.names[0], self.names[1])


Handler = Callable[[SupportsDatabases, RestCall], Node | None]
Routes = Mapping[tuple[str, str], Handler]  # handlers by method and address; `*` stands for a name


def page(call: RestCall, key: str, names: Sequence[str], pattern: str = "") -> dict[str, Any]:
    """Return a page of sorted names; `pattern` names the parameter with a pattern of SQL's LIKE. The token of the next
    page is the last name of this one. Raises `InvalidOptionError`."""
    found = [n for n in names if _matches(call.parameters.get(pattern, ""), n)]
    after = call.parameters.get("pageToken")
    left = found if not after else [n for n in found if n > after]
    most = page_size(call.parameters.get("maxResults"))
    return {key: left[:most], **next_page(left[most - 1] if len(left) > most else None)}


def next_page(token: str | None) -> dict[str, str | None]:
    """Return the JSON member of a page with the token of the next page. pypaimon requires the member in the last page,
    too.
    """
    return {"nextPageToken": token}


def page_size(text: str | None) -> int:
    """Return the most entries that a page may have. Raises `InvalidOptionError`."""
    if not text:
        return MOST_RESULTS
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise InvalidOptionError(f"maxResults cannot be {text[:20]!r}: use a number.")
    return min(int(text), MOST_RESULTS) or MOST_RESULTS


def _matches(pattern: str, name: str) -> bool:
    return not pattern or is_like(name, pattern)


def is_like(name: str, pattern: str) -> bool:
    """Return whether a name matches a pattern in which `%` stands for any text. Each text between two `%` is searched
    once, from left to right: its leftmost position leaves the most room for the texts after it. A regular expression
    would try all positions of all texts, so a hostile pattern would take very long.
    """
    first, *parts = pattern.split("%")
    if not parts:
        return name == first
    last = parts.pop()
    at, end = len(first), len(name) - len(last)
    if at > end or not name.startswith(first) or not name.endswith(last):
        return False
    for part in parts:
        at = name.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
