"""The bodies of SQL functions, with full names that mean the same wherever a function is called.

Spark looks up a body's names in the current database of the caller. So this module spells them in full before Spark
gets the text: Spark's parser finds each name, and the full name replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from paimon_core.dataclass import dataclass
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.functions import QUERY, RELATION, NameInPlan, names_in, parsed_query
from paimon_sql.spark.jvm.sessions import is_catalog
from paimon_sql.spark.session_bridge import SessionBridge

_SELECT = "SELECT "
_PART = r"(?:`(?:[^`]|``)+`|[^\s`.()\[\],;'\"]+)"
_NAME = re.compile(rf"{_PART}(?:\s*\.\s*{_PART})*")
_PARTS = re.compile(_PART)
Place = Sequence[str]  # a catalog and a namespace
Naming = Callable[[str, tuple[str, ...]], str | None]  # from a kind and a full name to the name to call instead


@dataclass(frozen=True, slots=True)
class Body:
    """The text of a query or an expression."""

    text: str
    is_query: bool


def is_expression(session: SessionBridge, text: str) -> bool:
    """Return whether a text is an expression, not a query."""
    return parsed_query(session.jvm, _SELECT + text) is not None


def full_names(session: SessionBridge, body: Body, place: Place) -> list[tuple[str, tuple[str, ...]]]:
    """Return the kinds and full names of the functions that a body calls."""
    return [(n.kind, full) for n, full in _names(session, body, place) if n.kind not in (RELATION, QUERY)]


def spelled_in_full(
    session: SessionBridge, body: Body, place: Place, naming: Naming, *, spells_calls: bool = True
) -> str:
    """Return the text of a body with full names. `naming` may return another name for a call. If it returns None, the
    call is spelled in full only with `spells_calls`.
    """
    head = "" if body.is_query else _SELECT
    text = head + body.text
    for name, full in sorted(_names(session, body, place), key=lambda n: -n[0].start):
        written = _NAME.match(text, name.start) if name.start >= len(head) else None
        if written is None or not _says(written[0], name.parts):
            continue
        instead = None if name.kind == RELATION else naming(name.kind, full)
        if instead is None and name.kind != RELATION and not spells_calls:
            continue
        spelled = ".".join(map(quoted_name, full)) if instead is None else quoted_name(instead)
        text = text[: written.start()] + spelled + text[written.end() :]
    return text[len(head) :]


def _names(session: SessionBridge, body: Body, place: Place) -> list[tuple[NameInPlan, tuple[str, ...]]]:
    plan = parsed_query(session.jvm, body.text if body.is_query else _SELECT + body.text)
    if plan is None:
        return []
    found = names_in(session.jvm, session.session, plan)
    queries = {n.parts[0].lower() for n in found if n.kind == QUERY}
    wanted = [n for n in found if n.kind != QUERY and not _is_local(n, queries)]
    return [(n, _full(session, n.parts, place)) for n in wanted]


def _is_local(name: NameInPlan, queries: set[str]) -> bool:
    """Return whether a relation is a query of WITH, or a file such as parquet.`/path`."""
    if name.kind != RELATION:
        return False
    return (len(name.parts) == 1 and name.parts[0].lower() in queries) or "/" in name.parts[-1]


def _full(session: SessionBridge, parts: tuple[str, ...], place: Place) -> tuple[str, ...]:
    if len(parts) == 1:
        return (*place, *parts)
    if len(parts) > 2 or is_catalog(session.session, parts[0]):
        return parts
    return (place[0], *parts)


def _says(written: str, parts: tuple[str, ...]) -> bool:
    """Return whether a text spells a name of these parts."""
    spelled = [p[1:-1].replace("``", "`") if p.startswith("`") else p for p in _PARTS.findall(written)]
    return [p.lower() for p in spelled] == [p.lower() for p in parts]
