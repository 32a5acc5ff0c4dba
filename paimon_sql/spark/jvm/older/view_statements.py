"""Statements about the views of a catalog: from 4.2 on Spark asks it, before it refuses them of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import texts
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import Variant, hook, java_type, method

_ASKED = Variant.of("Spark asks catalogs", method(classes.VIEW_CATALOG, "createOrReplaceView", 2))
_PARSED = Variant.of(
    "answered as they are parsed",
    *(java_type(f"{classes.PLANS_PACKAGE}.{name}") for name in ("CreateView", "DropView", "ShowViews")),
    method(classes.UNRESOLVED_IDENTIFIER, "nameParts", 0),
    method(classes.UNRESOLVED_NAMESPACE, "multipartIdentifier", 0),
)
_KINDS: dict[str, Literal["create", "drop", "show"]] = {"CreateView": "create", "DropView": "drop", "ShowViews": "show"}


@dataclass(frozen=True, slots=True)
class ViewStatement:
    """What a statement does with a view of a name, or the views of a namespace, of which no parts are the current one;
    `lenient` is IF EXISTS."""

    kind: Literal["create", "drop", "show"]
    parts: tuple[str, ...]
    lenient: bool = False


@hook("`ViewCatalog`", "statements about views of our catalogs", _ASKED, _PARSED)
def view_statement(jvm: Jvm, plan: JavaObject) -> ViewStatement | None:
    """A parsed statement about views that no catalog will be asked for; None for another."""
    kind = None if jvm.variant(view_statement) is _ASKED else _KINDS.get(simple_name(plan))
    if kind is None:
        return None
    if kind == "show":
        space = plan.namespace()
        is_named = simple_name(space) == "UnresolvedNamespace"
        return ViewStatement(kind, texts(space.multipartIdentifier()) if is_named else ())
    if simple_name(plan.child()) != "UnresolvedIdentifier":
        return None
    return ViewStatement(kind, texts(plan.child().nameParts()), kind == "drop" and bool(plan.ifExists()))
