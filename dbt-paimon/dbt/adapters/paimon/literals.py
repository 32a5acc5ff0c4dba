"""Values as text of Spark's SQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any


def string_literal(text: str) -> str:
    """Return a string in single quotes. Its `$` before `{` is escaped, because `${` would begin a variable of Spark."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{")
    return f"'{escaped}'"


def literal(value: object) -> str:
    """Return a value of a CSV file, or of an option: NULL, or a string that can be cast to its type."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return string_literal(str(value).lower())
    if isinstance(value, Decimal):
        return string_literal(format(value, "f"))
    if isinstance(value, dt.datetime):
        return string_literal(value.isoformat(sep=" "))
    return string_literal(str(value))


def properties(options: Mapping[str, object]) -> str:
    """Return `'key' = 'value', …` as in TBLPROPERTIES."""
    return ", ".join(f"{literal(key)} = {literal(value)}" for key, value in options.items())


def quoted(name: str) -> str:
    """Return a name in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def selects_of_rows(rows: Sequence[Sequence[Any]], types: Mapping[str, str], size: int) -> Iterator[str]:
    """Yield queries that together return some rows, each at most `size` rows, as columns with the names and types of
    `types`. Without rows, there is still one query.
    """
    names = [f"c{i}" for i in range(len(types))]
    columns = ", ".join(
        f"cast({name} as {kind}) as {quoted(column)}" for name, (column, kind) in zip(names, types.items(), strict=True)
    )
    for start in range(0, max(len(rows), 1), size):
        chunk = rows[start : start + size] or [[None] * len(types)]
        values = ",\n".join(f"({', '.join(map(literal, row))})" for row in chunk)
        none = "" if rows else " where false"
        yield f"select {columns} from values\n{values}\nas rows({', '.join(names)}){none}"
