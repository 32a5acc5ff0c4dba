"""The search that the option of a read asks for, written by `vector_search`, `full_text_search`, `hybrid_search`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from paimon_core.arrow.nearest import VectorQuery
from paimon_core.errors import ColumnNotFoundError, InvalidOptionError, PaimonError
from paimon_core.indexes.full_text import TextQuery
from paimon_core.options import DATA_EVOLUTION
from paimon_core.scan.text_search import HybridQuery, Query, check_has_ids
from paimon_core.spec.kinds import TEXTS
from paimon_core.spec.types import DataField, Kind, VectorType
from paimon_core.table import Table
from paimon_sql.preprocess import SEARCH_OPTION

_Arguments = Mapping[str, Any]


def has_scores(table: Table) -> bool:
    """Return whether a table has the metadata column of scores, because its vectors or texts can be searched."""
    by_id = table.store.options[DATA_EVOLUTION]
    return any(_has_vectors(f) or (by_id and f.type.kind in TEXTS) for f in table.schema.fields)


def query_of(table: Table, given: Mapping[str, str]) -> Query | HybridQuery | None:
    """Return the search that the options of a read ask for, or None.

    Raises `ColumnNotFoundError`, `InvalidOptionError` for arguments that do not fit, `UnsupportedFeatureError`."""
    text = given.get(SEARCH_OPTION)
    if text is None:
        return None
    try:
        found = _object(json.loads(text))
        if "ranker" in found:
            return _combined(table, found)
        return _matching(table, found, "full_text_search") if "query" in found else _nearest(table, found)
    except PaimonError:
        raise
    except (ValueError, TypeError, RecursionError) as e:
        raise InvalidOptionError(
            f"Option '{SEARCH_OPTION}' cannot be {text[:200]!r}: call vector_search, full_text_search or "
            "hybrid_search in FROM, which set it."
        ) from e


def _nearest(table: Table, found: _Arguments) -> VectorQuery:
    _check_types(found, column=str, vector=list, k=int, options=dict)
    vector, options = found["vector"], found["options"]
    if not all(type(n) is float for n in vector) or not all(type(o) is str for o in options.values()):
        raise TypeError("vector")
    field = _field(table, found["column"])
    return VectorQuery.of(field, vector, found["k"], options, table.store.options.values)


def _matching(table: Table, found: _Arguments, function: str) -> TextQuery:
    _check_types(found, column=str, query=str, k=int)
    check_has_ids(table.store, function)
    return TextQuery.of(_field(table, found["column"]), found["query"], found["k"], table.store.options.values)


def _combined(table: Table, found: _Arguments) -> HybridQuery:
    _check_types(found, vectors=list, texts=list, k=int, ranker=str)
    check_has_ids(table.store, "hybrid_search")
    limit, routes = found["k"], list[tuple[Query, float]]()
    for route in map(_object, found["vectors"]):
        named = {"field" if name == "vector_column" else name: value for name, value in route.items()}
        _check_members(named, "field", "query_vector")
        options = {"column": named["field"], "vector": named["query_vector"], "options": named.get("options", {})}
        routes.append((_nearest(table, {**options, "k": _limit(named, limit)}), _weight(named)))
    for route in map(_object, found["texts"]):
        _check_members(route, "column", "query")
        if route.get("options"):
            raise InvalidOptionError("A search for texts in hybrid_search takes no options: leave them out.")
        asked = {"column": route["column"], "query": route["query"], "k": _limit(route, limit)}
        routes.append((_matching(table, asked, "hybrid_search"), _weight(route)))
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
    found = float(route.get("limit", limit))
    if not found.is_integer():
        raise InvalidOptionError(f"The limit {found} of a search in hybrid_search is not a whole number of rows.")
    return int(found)


def _weight(route: _Arguments) -> float:
    return float(route.get("weight", 1.0))


def _field(table: Table, column: str) -> DataField:
    field = table.schema.field_by_name.get(column)
    if field is None:
        known = ", ".join(table.schema.field_by_name)
        raise ColumnNotFoundError(f"Table {table.name} has no column {column!r} to search in; it has {known}.")
    return field


def _has_vectors(field: DataField) -> bool:
    found = field.type
    return isinstance(found, VectorType) or getattr(getattr(found, "element", None), "kind", None) is Kind.FLOAT
