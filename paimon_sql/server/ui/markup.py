"""HTML as values: every text that is not `Html` is escaped, so that names, comments and values of other users cannot
become markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote, urlencode

from paimon_sql.pictures.svg import shown

_EMPTY = frozenset(("br", "col", "hr", "input", "link", "meta"))  # elements without an end
MOST_CHARACTERS = 300  # of a text in a cell

_ONE_LINE = 60  # characters: names of data files have fewer


class Html(str):
    """A piece of HTML. Only this module makes one from a text."""

    __slots__ = ()


Child = object  # Html stays, None is left out, an iterable is its items, everything else is escaped


def html(*children: Child) -> Html:
    """Return pieces as one piece."""
    return Html("".join(_parts(children)))


def tag(name: str, /, *children: Child, **attributes: object) -> Html:
    """Return an element. An attribute with the value None or False is left out, one with True has no value. `_` in a
    name stands for `-`, and one at its end is left out.
    """
    said = "".join(_attribute(k.rstrip("_").replace("_", "-"), v) for k, v in attributes.items())
    if name in _EMPTY:
        return Html(f"<{name}{said}>")
    return Html(f"<{name}{said}>{html(*children)}</{name}>")


def drawn(picture: str) -> Html:
    """Return the HTML of a picture, which has escaped its texts itself."""
    return Html(picture)


def cut_text(value: object) -> str:
    """Return a value as a text of at most `MOST_CHARACTERS`."""
    text = str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Child]], numbers: Iterable[int] = ()) -> Html:
    """Return a table in a box with its own scroll bar. `numbers` are the positions of columns with numbers."""
    right = frozenset(numbers)
    head = [tag("th", c, scope="col", class_="n" if i in right else None) for i, c in enumerate(columns)]
    body = [tag("tr", [tag("td", _cell(v), class_=_class(v, i in right)) for i, v in enumerate(row)]) for row in rows]
    made = tag("table", tag("caption", caption), tag("thead", tag("tr", head)), tag("tbody", body))
    empty = tag("p", "None.", class_="note") if not body else None
    return tag("div", made, empty, class_="wide", role="region", aria_label=caption, tabindex="0")


def facts(pairs: Iterable[tuple[str, Child]]) -> Html:
    """Return names and values as a list."""
    return tag("dl", [(tag("dt", name), tag("dd", _cell(value))) for name, value in pairs])


def address(*parts: str, **query: object) -> str:
    """Return the path of a page: names are escaped, and parameters with None are left out."""
    given = {k: str(v) for k, v in query.items() if v is not None}
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    return f"{path}?{urlencode(given)}" if given else path


def link(text: Child, *parts: str, current: bool = False, **query: object) -> Html:
    """Return a link to a page of this server. `current`: it leads to the page that is shown."""
    return tag("a", text, href=address(*parts, **query), aria_current="page" if current else None)


def pages(start: int, most: int, count: int, parts: Sequence[str], **query: object) -> Html:
    """Return the links to the parts of a list before and after the shown one."""
    last = min(start + most, count)
    said = f"{start + 1:,} to {last:,} of {count:,}" if count else "nothing to show"
    before = tag("a", "Previous", href=address(*parts, start=max(0, start - most), **query)) if start else None
    after = tag("a", "Next", href=address(*parts, start=last, **query)) if last < count else None
    return tag("nav", tag("span", said), before, after, class_="pages", aria_label="Parts of the list")


def _class(value: Child, is_number: bool) -> str | None:
    """Return the class of a cell: numbers are to the right, and only long texts have several lines."""
    is_long = isinstance(value, str) and len(value) > _ONE_LINE
    return "n" if is_number else "l" if is_long else None


def _cell(value: Child) -> Child:
    if isinstance(value, Html) or value is None:
        return value
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else cut_text(value)


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{shown(value)}"'


def _parts(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if isinstance(child, Html):
            yield child
        elif isinstance(child, list | tuple):
            yield from _parts(child)
        elif child is not None:
            yield shown(child)
