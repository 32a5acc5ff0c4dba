"""Views that refer to each other in a circle.

Spark refuses to create such a view. But another engine may write one, and so may two statements at the same time. Spark
would follow the circle until its stack overflows. Spark loads each view of a query only once. So the first view is
checked for its own name, and each view that it reads is checked for circles that it leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from py4j.protocol import Py4JError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_core.errors import PaimonError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import Catalog, SupportsViews
from paimon_sql.spark.errors.java import recursive_view
from paimon_sql.spark.jvm.commands import parsed_by_spark
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.views import ViewDefinition, named_relations, view_depth
from paimon_sql.spark.tables.views.definitions import spark_view

Name = tuple[str, str, str]  # catalog, database, view
CatalogOf = Callable[[str], Catalog | None]  # the Paimon catalog of a name
_MOST = 1000  # the most views that a search visits


def check_not_in_cycle(jvm: Jvm, name: Name, view: ViewDefinition, catalog_of: CatalogOf) -> None:
    """Raise an error if a view that the analyzer loads leads it into a circle."""
    depth = view_depth(jvm)
    if depth > 1:
        return
    if depth == 1:
        cycle = _cycle_from(jvm, name, view, catalog_of)
    else:
        cycle = [name, name] if name in _references(jvm, view) else None
    if cycle is not None:
        raise recursive_view(jvm, cycle)


def check_no_cycle(jvm: Jvm, name: Name, view: ViewDefinition, catalog_of: CatalogOf) -> None:
    """Raise an error for a new definition of a view that reads the view itself: Spark before 4.3 does not check
    subqueries.
    """
    cycle = _cycle_from(jvm, name, view, catalog_of)
    if cycle is not None and name in cycle:
        raise recursive_view(jvm, cycle)


def _cycle_from(jvm: Jvm, name: Name, view: ViewDefinition, catalog_of: CatalogOf) -> list[Name] | None:
    named = _references(jvm, view)
    return find_cycle(name, lambda other: named if other == name else _references_of(jvm, other, catalog_of))


def find_cycle(start: Name, references: Callable[[Name], Iterable[Name]]) -> list[Name] | None:
    """Return a circle that can be reached from a name, with its first name repeated at the end; None if there is no
    circle.
    """
    path, done = [start], set[Name]()
    open_names: list[Iterator[Name]] = [iter(references(start))]
    while open_names and len(done) < _MOST:
        following = next(open_names[-1], None)
        if following is None:
            open_names.pop()
            done.add(path.pop())
        elif following in path:
            return [*path[path.index(following) :], following]
        elif following not in done:
            path.append(following)
            open_names.append(iter(references(following)))
    return None


def _references_of(jvm: Jvm, name: Name, catalog_of: CatalogOf) -> list[Name]:
    """Return the names in the query of a view; none for a view of another catalog, or a view that cannot be read."""
    catalog, identifier = catalog_of(name[0]), Identifier(*name[1:])
    if not isinstance(catalog, SupportsViews):
        return []
    try:
        return _references(jvm, spark_view(catalog.load_view(identifier), name[0], identifier))
    except PaimonError:
        return []


def _references(jvm: Jvm, view: ViewDefinition) -> list[Name]:
    """Return the full names of the tables and views in a query; none if Spark cannot parse the query."""
    try:
        named = named_relations(jvm, parsed_by_spark(jvm, view.query))
    except (Py4JError, CapturedException):
        return []
    place = (view.catalog, *view.namespace)
    full = [(*place[: max(3 - len(parts), 0)], *parts) for parts in named]
    return [(name[0], name[1], name[2]) for name in full if len(name) == 3]
