"""Options of a query that change the columns of a table: versions, branches, changes.

Spark 4.3 passes them to the catalog when it loads the table. Before 4.3 they are part of the name by which
Spark loads the table; the loaded table still has its own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.collections import texts
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import Variant, field, hook, method
from paimon_sql.spark.jvm.plans import OPTIONS_MARK
from paimon_sql.spark.jvm.sessions import current_catalog, current_namespace, parser_of, session_catalog

_LOADED = Variant.of("when a table is loaded", method(classes.STAGING_TABLE_CATALOG, "tableStateOptionKeys", 0))
_NAMED = Variant.of(
    "in the name of a table",
    method(classes.LOGICAL_PLAN, "transformDownWithSubqueries", 1),
    method(classes.UNRESOLVED_RELATION, "options", 0),
    method(classes.UNRESOLVED_WITH, "cteRelations", 0),
)
_VIEW_PARSER = Variant.of("private field", field(classes.SESSION_CATALOG, "parser"))


@hook("`TableCatalog.loadTable` with options", "columns of older versions and of branches", _LOADED, _NAMED)
def travels_in_name(jvm: Jvm) -> bool:
    """Return whether options that change columns must be part of names, by `with_named_options`."""
    return jvm.variant(travels_in_name) is _NAMED


@hook(
    "`SessionCatalog.parser`",
    "options of a table in a view, if the statement names the table, too",
    _VIEW_PARSER,
    Variant.of("not in this Spark"),
)
def parse_views_by(jvm: Jvm, session: JavaObject, ours: Any, sparks: JavaObject) -> None:
    """Parse the texts of a session's views by Spark's own parser, which is quicker. If options must move into names,
    parse the texts by ours. Otherwise Spark before 4.3 would read a view's table in the version that another part of
    the statement has loaded.
    """
    if jvm.variant(parse_views_by) is not _VIEW_PARSER:
        return
    found = jvm.java_class(classes.JAVA_CLASS).forName(classes.SESSION_CATALOG).getDeclaredField("parser")
    found.setAccessible(True)
    found.set(session_catalog(session), ours if travels_in_name(jvm) else sparks)


def with_named_options(
    jvm: Jvm, session: JavaObject, plan: JavaObject, keys: Iterable[str], ours: Iterable[str]
) -> JavaObject:
    """Return a parsed query with those options of its tables that are in `keys` moved into the tables' names. `ours`
    are the names of this package's catalogs: tables of other catalogs keep their options.
    """
    catalogs, place = session.sessionState().catalogManager(), (current_catalog(session), current_namespace(session))
    sets = jvm.string_set(keys), jvm.string_set(ours)
    return jvm.compiled("StateOptions").named(plan, *sets, catalogs, OPTIONS_MARK, *place)


def named_relation(
    jvm: Jvm, session: JavaObject, name: str, options: Mapping[str, str], keys: Iterable[str]
) -> JavaObject:
    """Return the plan of a table of this package, with those options that are in `keys` in its name. `name` is the
    table's name as SQL spells it.
    """
    parts = texts(parser_of(session).parseMultipartIdentifier(name))
    found = jvm.java_class(classes.UNRESOLVED_RELATION)(jvm.seq(parts), connector.string_map(jvm, options), False)
    return with_named_options(jvm, session, found, keys, {parts[0], current_catalog(session)})
