"""The pages of a catalog: its databases and options, the tables of a database, and queries."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import tzinfo
from typing import TYPE_CHECKING

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError
from paimon_core.lazy import ImportedOnCall
from paimon_core.secrets import redacted
from paimon_sql.pictures.picture import count_text
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.server.ui.frame import Page, Tree, error_text, note, search_form
from paimon_sql.server.ui.markup import Html, html, link, pages, table, tag
from paimon_sql.server.ui.queries import DuckDbQueries, Queries, number_columns
from paimon_sql.values import text_rows

if TYPE_CHECKING:
    from paimon_sql.python.queries import QueryLimits
else:  # the first page needs no SQL
    QueryLimits = ImportedOnCall("paimon_sql.python.queries", "QueryLimits")

MOST_TABLES = 500  # on a page
_IN_TREE = 200  # databases, and tables of the open database
_ROWS, _SECONDS = 200, 25.0  # of a query


@dataclass(frozen=True, slots=True)
class PageCall:
    """A request for a page: the names in its address, and its parameters. `queries` runs SQL, `left` is set when the
    browser no longer waits.
    """

    names: Sequence[str]
    parameters: Mapping[str, str]
    queries: Queries = field(default_factory=DuckDbQueries)
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def start(self) -> int:
        """The number of the first item of a list."""
        return self.number("start") or 0

    def number(self, name: str) -> int | None:
        """Return a parameter that is a number of at most 9 digits, else None."""
        text = self.text(name)
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None

    def text(self, name: str, default: str = "") -> str:
        """Return a parameter."""
        return self.parameters.get(name, default)


View = Callable[[PaimonCatalog, PageCall], Page]


def tree_of(catalog: PaimonCatalog, database: str | None = None, table_name: str | None = None) -> Tree:
    """Return the tree with an open database. Of many tables, it has the neighbours of the shown one."""
    databases = catalog.list_databases()
    shown = _around(databases, database)
    if database is None or database not in databases:
        return Tree(shown, more_databases=len(databases) - len(shown))
    names = catalog.list_tables(database)
    near = _around(names, table_name)
    return Tree(shown, database, near, table_name, len(databases) - len(shown), len(names) - len(near))


def home(catalog: PaimonCatalog, call: PageCall) -> Page:
    """Show the databases and the options of the catalog."""
    names = catalog.list_databases()
    some = names[call.start : call.start + MOST_TABLES]
    options = sorted(redacted(dict(catalog.inner.options)).items())
    content = html(
        pages(call.start, MOST_TABLES, len(names), ("",)),
        table("Databases", ("database",), [(link(name, "d", name),) for name in some]),
        tag("h2", "Options of the catalog"),
        table("Secrets are hidden", ("option", "value"), options),
    )
    return Page("Catalog", tree_of(catalog), content)


def database_page(catalog: PaimonCatalog, call: PageCall) -> Page:
    """Show the tables and views of a database; `q` is a part of their names."""
    (database,) = call.names
    wanted = call.text("q")
    names = [name for name in catalog.list_tables(database) if wanted.lower() in name.lower()]
    views = [name for name in catalog.list_views(database) if wanted.lower() in name.lower()]
    some = names[call.start : call.start + MOST_TABLES]
    content = html(
        search_form("Part of a name", wanted, "d", database),
        pages(call.start, MOST_TABLES, len(names), ("d", database), q=wanted or None),
        table("Tables", ("table",), [(link(name, "t", database, name),) for name in some]),
        (tag("h2", "Views"), table("Only Spark can query views", ("view",), [(v,) for v in views[:MOST_TABLES]]))
        if views
        else None,
    )
    return Page(f"Database {database}", tree_of(catalog, database), content)


def query_page(catalog: PaimonCatalog, call: PageCall) -> Page:
    """Show a field for a query, and the rows of the query `query`."""
    text = call.text("query")
    content = html(
        tag(
            "form",
            tag("label", call.queries.label, for_="query"),
            tag("textarea", text, id="query", name="query", maxlength="8000", spellcheck="false"),
            tag("button", "Run"),
            action="/sql",
            method="get",
        ),
        _answer(catalog, call, text) if text.strip() else note("Queries only read."),
    )
    return Page("SQL", tree_of(catalog), content)


def _answer(catalog: PaimonCatalog, call: PageCall, text: str) -> Html:
    try:
        found = call.queries.run(catalog, text, QueryLimits(rows=_ROWS, seconds=_SECONDS, stop=call.left))
    except PaimonError as error:
        return error_text(error)
    count = len(found.rows)
    caption = count_text(count, "row") if count < _ROWS else f"The first {_ROWS:,} rows"
    return table(caption, found.columns, found.rows, found.numbers)


def rows_table(caption: str, found: pa.Table, zone: tzinfo | None) -> Html:
    """Return rows of a table or a query."""
    return table(caption, found.column_names, text_rows(found, zone), number_columns(found))


def _around(names: Sequence[str], name: str | None) -> Sequence[str]:
    """Return some sorted names around a name, or the first names."""
    if len(names) <= _IN_TREE:
        return names
    at = 0 if name is None else max(0, bisect_left(names, name) - _IN_TREE // 2)
    at = min(at, len(names) - _IN_TREE)
    return names[at : at + _IN_TREE]
