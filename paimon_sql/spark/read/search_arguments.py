"""The search that an option of a read describes; `vector_search`, `full_text_search` and `hybrid_search` write this
option.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from paimon_core.arrow.nearest import VectorQuery
from paimon_core.dataclass import dataclass
from paimon_core.errors import ColumnNotFoundError, InvalidOptionError, PaimonError
from paimon_core.indexes.full_text import TextQuery
from paimon_core.options import DATA_EVOLUTION
from paimon_core.scan.text_search import HybridQuery, Query, check_has_ids
from paimon_core.spec.kinds import TEXTS
from paimon_core.spec.types import DataField, Kind, VectorType
from paimon_core.table import Table
from paimon_sql.preprocess import SEARCH_OPTION
from paimon_sql.spark.session_bridge import SessionBridge

_Arguments = Mapping[str, Any]


def has_scores(table: Table) -> bool:
    """Return whether a table has the metadata column of scores, because its vectors or texts can be searched."""
    by_id = table.store.options[DATA_EVOLUTION]
    return any(_has_vectors(f) or (by_id and f.type.kind in TEXTS) for f in table.schema.fields)


def query_of(table: Table, given: Mapping[str, str], session: SessionBridge) -> Query | HybridQuery | None:
    """Return the search that the options of a read describe, or None. Columns have names as in the session's queries.

    Raises `ColumnNotFoundError`, `InvalidOptionError` for arguments that do not fit, `UnsupportedFeatureError`."""
    text = given.get(SEARCH_OPTION)
    if text is None:
        return None
    try:
        found, columns = _object(json.loads(text)), _Columns(table, session.known_as)
        if "ranker" in found:
            return _combined(columns, found)
        return _matching(columns, found, "full_text_search") if "query" in found else _nearest(columns, found)
    except PaimonError:
        raise
    except (ValueError, TypeError, RecursionError) as e:
        raise InvalidOptionError(
            f"Option '{SEARCH_OPTION}' cannot be {text[:200]!r}: call vector_search, full_text_search or "
            "hybrid_search in FROM, which set it."
        ) from e


@dataclass(frozen=True)
class _Columns:
    """The columns of a table by name. If the session ignores case, names in another case find them, too."""

    table: Table
    known_as: Callable[[str], str]

    def named(self, column: str) -> DataField:
        """Return a column. Raises `ColumnNotFoundError`."""
        fields, wanted = self.table.schema.field_by_name, self.known_as(column)
        found = [fields[column]] if column in fields else [f for n, f in fields.items() if self.known_as(n) == wanted]
        if len(found) != 1:
            why = "has no column" if not found else "has several columns like"
            raise ColumnNotFoundError(
                f"Table {self.table.name} {why} {column!r} to search in; it has {', '.join(fields)}."
            )
        return found[0]


def _nearest(columns: _Columns, found: _Arguments) -> VectorQuery:
    _check_types(found, column=str, vector=list, k=int, options=dict)
    vector, options = found["vector"], found["options"]
    if not all(type(n) is float for n in vector) or not all(type(o) is str for o in options.values()):
        raise TypeError("vector")
    field = columns.named(found["column"])
    return VectorQuery.of(field, vector, found["k"], options, columns.table.store.options.values)


def _matching(columns: _Columns, found: _Arguments, function: str) -> TextQuery:
    _check_types(found, column=str, query=str, k=int)
    check_has_ids(columns.table.store, function)
    field, options = columns.named(found["column"]), columns.table.store.options.values
    return TextQuery.of(field, found["query"], found["k"], options)


def _combined(columns: _Columns, found: _Arguments) -> HybridQuery:
    _check_types(found, vectors=list, texts=list, k=int, ranker=str)
    check_has_ids(columns.table.store, "hybrid_search")
    limit, routes = found["k"], list[tuple[Query, float]]()
    for route in map(_object, found["vectors"]):
        named = {"field" if name == "vector_column" else name: value for name, value in route.items()}
        _check_members(named, "field", "query_vector")
        options = {"column": named["field"], "vector": named["query_vector"], "options": named.get("options", {})}
        routes.append((_nearest(columns, {**options, "k": _limit(named, limit)}), _weight(named)))
    for route in map(_object, found["texts"]):
        _check_members(route, "column", "query")
        if route.get("options"):
            raise InvalidOptionError("A search for texts in hybrid_search takes no options: leave them out.")
        asked = {"column": route["column"], "query": route["query"], "k": _limit(route, limit)}
        routes.append((_matching(columns, asked, "hybrid_search"), _weight(route)))
    return HybridQuery.of(routes, limit, found["ranker"])


def _object(found: Any) -> _Arguments:
    if not isinstance(found, dict):
        raise TypeError("object")
    return found


def _check_types(found: _Arguments, **kinds: type) -> None:
    """Raise `TypeError` if arguments do not have the types that the functions write."""
    if {name: type(value) for name, value in found.items()} != kinds:
        raise TypeError(", ".join(kinds))


def _check_members(route: _Arguments, *needed: str) -> None:
    known = {"limit", "weight", "options"}
    if not set(needed) <= route.keys() <= {*needed, *known}:
        raise InvalidOptionError(
            f"A search in hybrid_search cannot have the members {', '.join(route) or 'none'}: write "
            f"{' and '.join(needed)}, and {', '.join(sorted(known))} if you like."
        )


def _limit(route: _Arguments, limit: int) -> int:
    found = _number(route.get("limit", limit))
    if not found.is_integer():
        raise InvalidOptionError(
            f"The limit {found} of a search in hybrid_search is not a whole number of rows. Write it as 'limit', 50."
        )
    return int(found)


def _weight(route: _Arguments) -> float:
    return _number(route.get("weight", 1.0))


def _number(given: Any) -> float:
    """Return a number from JSON as a float. Numbers outside of the range of floats become infinity, even integers."""
    try:
        return float(given)
    except OverflowError:
        return math.inf if given > 0 else -math.inf


def _has_vectors(field: DataField) -> bool:
    found = field.type
    return isinstance(found, VectorType) or getattr(getattr(found, "element", None), "kind", None) is Kind.FLOAT
