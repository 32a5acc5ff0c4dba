"""Options of a query that decide which columns a table has: versions, branches, changes.

Spark 4.3 hands them over when it loads the table. Before, they travel in the name that the table is loaded by, and the
table is known under its own name all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.collections import texts
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import Variant, hook, method
from paimon_sql.spark.jvm.plans import OPTIONS_MARK
from paimon_sql.spark.jvm.sessions import current_catalog, current_namespace, parser_of

_LOADED = Variant.of("when a table is loaded", method(classes.STAGING_TABLE_CATALOG, "tableStateOptionKeys", 0))
_NAMED = Variant.of(
    "in the name of a table",
    method(classes.LOGICAL_PLAN, "transformDownWithSubqueries", 1),
    method(classes.UNRESOLVED_RELATION, "options", 0),
    method(classes.UNRESOLVED_WITH, "cteRelations", 0),
)


@hook("`TableCatalog.loadTable` with options", "columns of older versions and of branches", _LOADED, _NAMED)
def travels_in_name(jvm: Jvm) -> bool:
    """Return whether `with_named_options` must put options that decide about columns into names."""
    return jvm.variant(travels_in_name) is _NAMED


def with_named_options(jvm: Jvm, session: JavaObject, plan: JavaObject, keys: Iterable[str]) -> JavaObject:
    """A parsed query, options of its tables that are among `keys` in their names."""
    place = current_catalog(session), current_namespace(session)
    return jvm.compiled("StateOptions").named(plan, jvm.string_set(keys), OPTIONS_MARK, *place)


def named_relation(
    jvm: Jvm, session: JavaObject, name: str, options: Mapping[str, str], keys: Iterable[str]
) -> JavaObject:
    """The plan of a table by its name, as SQL spells it, with options, as `with_named_options` makes it."""
    parts = jvm.seq(texts(parser_of(session).parseMultipartIdentifier(name)))
    found = jvm.java_class(classes.UNRESOLVED_RELATION)(parts, connector.string_map(jvm, options), False)
    return with_named_options(jvm, session, found, keys)
