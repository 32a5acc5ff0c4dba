"""Parsed statements about the views of a catalog. From 4.2 on, Spark passes them to the catalog. Before 4.2 it refuses
them for every catalog but its own, so this package answers them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from py4j.java_gateway import JavaObject

from paimon_core.dataclass import dataclass
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import texts, value_of, values_of
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import Variant, hook, java_type, method

_PLANS = classes.PLANS_PACKAGE
Kind = Literal[
    "create",
    "drop",
    "show",
    "alter",
    "bind",
    "set",
    "unset",
    "rename",
    "describe",
    "show create",
    "properties",
    "drop table",
    "truncate",
]
# by the name of a node: the kind of statement; the second mapping has statements about tables or views
_OF_VIEWS: Mapping[str, Kind] = {
    "CreateView": "create",
    "DropView": "drop",
    "ShowViews": "show",
    "AlterViewAs": "alter",
    "AlterViewSchemaBinding": "bind",
    "SetViewProperties": "set",
    "UnsetViewProperties": "unset",
}
_OF_EITHER: Mapping[str, Kind] = {
    "RenameTable": "rename",
    "DescribeRelation": "describe",
    "ShowCreateTable": "show create",
    "ShowTableProperties": "properties",
    "DropTable": "drop table",
    "TruncateTable": "truncate",
}
_KINDS = {**_OF_VIEWS, **_OF_EITHER}
_UNRESOLVED = ("UnresolvedIdentifier", "UnresolvedView", "UnresolvedTable", "UnresolvedTableOrView")
_ASKED = Variant.of("Spark asks catalogs", method(classes.VIEW_CATALOG, "createOrReplaceView", 2))
_PARSED = Variant.of(
    "answered as they are parsed",
    *(java_type(f"{_PLANS}.{name}") for name in _KINDS),
    method(classes.UNRESOLVED_IDENTIFIER, "nameParts", 0),
    method(classes.UNRESOLVED_NAMESPACE, "multipartIdentifier", 0),
    *(method(f"{_PLANS}.CreateView", m, 0) for m in ("query", "allowExisting", "replace")),
    *(method(f"{_PLANS}.AlterViewAs", m, 0) for m in ("query", "originalText")),
)


@dataclass(frozen=True, slots=True)
class ViewStatement:
    """A statement about a view, or about the views of a namespace. Empty `parts` mean the current namespace.

    `lenient` is IF EXISTS or IF NOT EXISTS, `extended` is DESCRIBE EXTENDED. `pattern` is the pattern of SHOW VIEWS, or
    the key of SHOW TBLPROPERTIES. With `of_view`, the statement can only mean a view.
    """

    node: JavaObject
    kind: Kind
    parts: tuple[str, ...]
    of_view: bool
    lenient: bool = False
    replaces: bool = False
    extended: bool = False
    pattern: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    target: tuple[str, ...] = ()


@hook("`ViewCatalog`", "statements about views of our catalogs", _ASKED, _PARSED)
def answers_view_statements(jvm: Jvm) -> bool:
    """Return whether this package must answer statements about views."""
    return jvm.variant(answers_view_statements) is _PARSED


def view_statement(plan: JavaObject) -> ViewStatement | None:
    """Return a parsed statement that may be about a view; None for any other statement."""
    kind = _KINDS.get(simple_name(plan))
    if kind is None:
        return None
    if kind == "show":
        space = plan.namespace()
        is_named = simple_name(space) == "UnresolvedNamespace"
        parts = texts(space.multipartIdentifier()) if is_named else ()
        return ViewStatement(plan, kind, parts, True, pattern=_text(plan.pattern()))
    child = plan.child()
    if simple_name(child) not in _UNRESOLVED:
        return None
    named = child.nameParts() if simple_name(child) == "UnresolvedIdentifier" else child.multipartIdentifier()
    return _read(plan, kind, texts(named))


def _read(plan: JavaObject, kind: Kind, parts: tuple[str, ...]) -> ViewStatement | None:
    statement = ViewStatement(plan, kind, parts, simple_name(plan) in _OF_VIEWS)
    match kind:
        case "create":
            return ViewStatement(plan, kind, parts, True, bool(plan.allowExisting()), bool(plan.replace()))
        case "drop" | "drop table":
            return ViewStatement(plan, kind, parts, statement.of_view, bool(plan.ifExists()))
        case "set":
            return ViewStatement(plan, kind, parts, True, properties=values_of(plan.properties()))
        case "unset":
            return ViewStatement(plan, kind, parts, True, bool(plan.ifExists()), removed=texts(plan.propertyKeys()))
        case "rename":
            return ViewStatement(plan, kind, parts, bool(plan.isView()), target=texts(plan.newName()))
        case "describe":
            has_partition = not plan.partitionSpec().isEmpty()
            return None if has_partition else ViewStatement(plan, kind, parts, False, extended=bool(plan.isExtended()))
        case "properties":
            return ViewStatement(plan, kind, parts, False, pattern=_text(plan.propertyKey()))
    return statement


def _text(option: JavaObject) -> str | None:
    found = value_of(option)
    return None if found is None else str(found)
