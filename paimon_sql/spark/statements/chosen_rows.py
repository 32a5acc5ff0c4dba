"""Options of a read that choose its rows, as `vector_search` and `paimon_incremental_query` set them: for tables only.

Spark ignores the options of views, of queries of WITH, and of tables of other catalogs: it would return all rows.
"""

from __future__ import annotations

import re

from py4j.java_gateway import JavaObject

from paimon_core.errors import InvalidNameError, UnsupportedFeatureError
from paimon_core.options.scan_modes import INCREMENTS, SCAN_OPTIONS
from paimon_core.spec.identifier import sql_name
from paimon_sql.preprocess import SEARCH_OPTION
from paimon_sql.spark.errors.java import view_misused
from paimon_sql.spark.jvm.chosen_rows import ChosenRelation, chosen_queries
from paimon_sql.spark.jvm.plans import options_in_name
from paimon_sql.spark.jvm.sessions import is_temporary_view
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry, Located

CHOOSING = (SEARCH_OPTION, *SCAN_OPTIONS)
_ONLY_OURS = (SEARCH_OPTION, *INCREMENTS)  # no other catalog has these options
_MENTIONS = re.compile(
    "|".join(("(?:vector|full_text|hybrid)_search", "paimon_incremental_", *map(re.escape, CHOOSING))), re.IGNORECASE
)  # functions of tables set such an option, too
_ADVICE = "Spark would ignore it, and return all rows"
_SOURCES = frozenset({"avro", "binaryfile", "csv", "json", "orc", "parquet", "text", "xml"})  # before a path, as in SQL


def may_choose_rows(text: str) -> bool:
    """Return whether a statement may set one of the options."""
    return _MENTIONS.search(text) is not None


def check_no_query(registry: CatalogRegistry, plan: JavaObject) -> None:
    """Raise `UnsupportedFeatureError` if a parsed plan has one of the options on a query of WITH."""
    for option, name in chosen_queries(registry.jvm, plan, CHOOSING):
        raise _refusal(option, (name,), "a query of WITH", "Name the table that the query reads.")


def check_chosen(registry: CatalogRegistry, text: str) -> None:
    """Raise `UnsupportedFeatureError` if a relation with one of the options is not a table of a Paimon catalog. `text`
    describes the relation, see `ChosenRelation`. A name that leads nowhere is not refused: Spark reports it.
    """
    found = ChosenRelation.of(text)
    *others, last = found.parts
    parts = (*others, options_in_name(last)[0])
    if found.is_temporary or is_temporary_view(registry.session, *parts):
        raise _refusal(found.option, parts, "a temporary view", "Name the table that the view reads.")
    located = _located(registry, parts)
    if located is None:
        if found.option in _ONLY_OURS:
            raise _refusal(found.option, parts, "not in a Paimon catalog of this session", "Name a table of Paimon.")
        return
    catalog, identifier = located
    if not catalog.has_view(identifier):
        return
    if found.option in _ONLY_OURS:
        raise _refusal(found.option, parts, "a view", "Name the table that the view reads.")
    name = f"{catalog.catalog_name}.{identifier}"
    raise view_misused(registry.jvm, "UNSUPPORTED_FEATURE.TIME_TRAVEL", name, "select versions in its query")


def _located(registry: CatalogRegistry, parts: tuple[str, ...]) -> Located | None:
    """Return a table's Paimon catalog and its name there; None for another catalog's table, and for a file's path."""
    try:
        located = registry.find_table(parts)
    except InvalidNameError:
        return None
    is_path = located is not None and len(parts) == 2 and parts[0].lower() in _SOURCES
    return None if located is None or (is_path and not located[0].namespaceExists(parts[:1])) else located


def _refusal(option: str, parts: tuple[str, ...], what: str, instead: str) -> UnsupportedFeatureError:
    name = sql_name(*parts)
    if option == SEARCH_OPTION:
        return UnsupportedFeatureError(f"A search cannot read {name}: it is {what}, for which {_ADVICE}. {instead}")
    function = " (set by paimon_incremental_query and its like)" if option in INCREMENTS else ""
    return UnsupportedFeatureError(
        f"Option '{option}'{function} cannot choose rows of {name}: it is {what}, for which {_ADVICE}. {instead}"
    )
