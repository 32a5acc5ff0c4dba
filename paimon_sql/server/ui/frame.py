"""The frame of every page: its head, the tree of databases and tables, and the tabs of a table."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.dataclass import dataclass
from paimon_sql.server.ui.markup import Child, Html, address, html, link, tag

TABS = ("summary", "schema", "snapshots", "files", "pictures", "options", "rows", "compactions", "advice")


@dataclass(frozen=True, slots=True)
class Tree:
    """Databases, and the tables of the open one. `more` databases or tables are left out."""

    databases: Sequence[str]
    database: str | None = None
    tables: Sequence[str] = ()
    table: str | None = None
    more_databases: int = 0
    more_tables: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its title, its tree and its content."""

    title: str
    tree: Tree
    content: Html
    status: int = 200


def document(page: Page) -> str:
    """Return a whole page. It has no scripts, and loads only the style of this server."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{page.title} · paimon-sql"),
        tag("link", rel="stylesheet", href="/style.css"),
        tag("link", rel="icon", href="/icon.svg", type="image/svg+xml"),
    )
    top = tag(
        "header",
        tag("strong", "paimon-sql"),
        tag(
            "nav",
            link("Catalog", "", current=page.title == "Catalog"),
            " ",
            link("SQL", "sql", current=page.title == "SQL"),
            aria_label="Catalog and queries",
        ),
    )
    main = tag("main", tag("h1", page.title), page.content, id="content", tabindex="-1")
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        top,
        tag("div", _tree(page.tree), main, class_="columns"),
    )
    return f"<!doctype html>{tag('html', head, body, lang='en')}"


def tabs(database: str, table: str, current: str) -> Html:
    """Return the links to the pages of a table."""
    links = [tag("li", link(name.capitalize(), "t", database, table, name, current=name == current)) for name in TABS]
    return tag("nav", tag("ul", links), class_="tabs", aria_label=f"Pages of {database}.{table}")


def note(*children: Child) -> Html:
    """Return a paragraph of less importance."""
    return tag("p", *children, class_="note")


def error_text(message: object) -> Html:
    """Return a message about a failure, which screen readers read at once."""
    return tag("p", message, class_="error", role="alert")


def search_form(label: str, value: str, *parts: str) -> Html:
    """Return a form with a field for a part of a name."""
    field = tag("input", id="q", name="q", value=value, type="search", maxlength="200")
    return tag(
        "form", tag("label", label, for_="q"), field, " ", tag("button", "Search"), action=address(*parts), method="get"
    )


def _tree(tree: Tree) -> Html:
    items = []
    for name in tree.databases:
        is_open = name == tree.database
        below = _tables(tree, name) if is_open else None
        items.append(tag("li", link(name, "d", name, current=is_open and tree.table is None), below))
    more = note(f"and {tree.more_databases:,} more databases") if tree.more_databases else None
    return tag("nav", tag("ul", items), more, class_="tree", aria_label="Databases and tables")


def _tables(tree: Tree, database: str) -> Html:
    found = [tag("li", link(name, "t", database, name, current=name == tree.table)) for name in tree.tables]
    more = note(link(f"and {tree.more_tables:,} more tables", "d", database)) if tree.more_tables else None
    return html(tag("ul", found), more)
