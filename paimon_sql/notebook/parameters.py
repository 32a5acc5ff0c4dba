"""Values of the notebook in a statement: `{expression}` outside of quotes and comments.

A value becomes a parameter of Spark's (`:name`), so no text of it is ever read as SQL. A DataFrame becomes a temporary
view for as long as the statement is analyzed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from paimon_sql.preprocess.lexing import Tokens, scan


@contextmanager
def bound(text: str, evaluate: Callable[[str], Any], session: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The statement with a name for each value, and the values by these names. Raises what `evaluate` raises."""
    values: dict[str, Any] = {}
    views: list[str] = []
    parts, behind = [], 0
    tokens, _ = scan(text)
    for start, end in _braces(text, tokens):
        value = evaluate(text[start + 1 : end - 1].strip())
        name = f"_cell_{uuid4().hex}"
        if hasattr(value, "createOrReplaceTempView"):
            value.createOrReplaceTempView(name)
            views.append(name)
        else:
            values[name] = value
        parts += [text[behind:start], name if name in views else f":{name}"]
        behind = end
    try:
        yield "".join([*parts, text[behind:]]), values
    finally:
        for view in views:
            session.catalog.dropTempView(view)


def _braces(text: str, tokens: Tokens) -> Iterator[tuple[int, int]]:
    """First character and end of each outermost pair, but for variables of Spark's (`${x}`)."""
    depth, opened = 0, 0
    for index in tokens.indexes("{", "}"):
        if tokens.symbols[index] == "{":
            opened = index if depth == 0 else opened
            depth += 1
        elif depth:
            depth -= 1
            start = tokens.start(opened)
            if depth == 0 and text[start - 1 : start] != "$":
                yield start, tokens.end(index)
