"""Results as text: an aligned table, CSV, JSON lines, Markdown. All functions are pure.

CSV and JSON are for programs and have the values unchanged. The other formats are for people and escape control
characters, see `escapes`.
"""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.escapes import visible
from paimon_sql.values import as_json, as_text, is_number

MAX_CELL_WIDTH = 80  # the width of a value in a table, in terminal columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Rows of a statement with the names and Spark types of their columns."""

    columns: Sequence[str]
    kinds: Sequence[Any]
    rows: Sequence[Sequence[Any]]
    zone: tzinfo | None = None  # the time zone of instants in results

    def texts(self) -> list[list[str]]:
        return [[as_text(v, k, self.zone) for v, k in zip(row, self.kinds, strict=True)] for row in self.rows]


def table(result: Result) -> str:
    """Return aligned columns, with numbers to the right and wide values cut. If there is only one column, its values
    are complete, with their line breaks.
    """
    texts = result.texts()
    is_single = len(result.columns) == 1
    if is_single and any("\n" in text for (text,) in texts):
        return "".join(visible(text.rstrip("\n")) + "\n" for (text,) in texts)
    cells = [[_one_line(text) for text in row] for row in [list(result.columns), *texts]]
    if not is_single:
        cells = [list(map(_cut, row)) for row in cells]
    widths = [max(text_width(row[i]) for row in cells) for i in range(len(result.columns))]
    rights = [is_number(kind) for kind in result.kinds]
    lines = [" " + " | ".join(map(_pad, row, widths, rights)) for row in cells]
    lines.insert(1, "+".join("-" * (width + 2) for width in widths))
    return "".join(line.rstrip() + "\n" for line in lines)


def vertical(result: Result) -> str:
    """Render each row as lines of a column's name and its full value, for rows wider than the screen."""
    names = [_one_line(name) for name in result.columns]
    width = max(map(text_width, names), default=0)
    lines: list[str] = []
    for number, texts in enumerate(result.texts(), 1):
        lines.append(f"-[ row {number} ]".ljust(width + 3, "-"))
        lines += [f"{_pad(name, width, False)} | {_one_line(text)}" for name, text in zip(names, texts, strict=True)]
    return "".join(line + "\n" for line in lines)


def markdown(result: Result) -> str:
    rows = [[_one_line(text).replace("|", "\\|") for text in row] for row in [list(result.columns), *result.texts()]]
    rows.insert(1, ["---:" if is_number(kind) else "---" for kind in result.kinds])
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def csv_text(result: Result) -> str:
    """Return a header and the rows as CSV; NULL is an empty field."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(result.columns)
    for row, texts in zip(result.rows, result.texts(), strict=True):
        writer.writerow(["" if value is None else text for value, text in zip(row, texts, strict=True)])
    return buffer.getvalue()


def json_lines(result: Result) -> str:
    """Return one JSON object per row, each on a line."""
    lines = []
    for row in result.rows:
        values = [as_json(v, k, result.zone) for v, k in zip(row, result.kinds, strict=True)]
        lines.append(json.dumps(dict(zip(result.columns, values, strict=True)), ensure_ascii=False) + "\n")
    return "".join(lines)


FORMATS: dict[str, Callable[[Result], str]] = {
    "table": table,
    "vertical": vertical,
    "csv": csv_text,
    "json": json_lines,
    "markdown": markdown,
}


def _one_line(text: str) -> str:
    """Return a text without line breaks, which would break the grid."""
    return visible(text, kept="")


def _cut(text: str) -> str:
    if text_width(text) <= MAX_CELL_WIDTH:
        return text
    kept, width = "", 1
    for character in text:
        width += text_width(character)
        if width > MAX_CELL_WIDTH:
            break
        kept += character
    return kept + "…"


def _pad(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - text_width(text))
    return blanks + text if right else text + blanks


def text_width(text: str) -> int:
    """Return the number of terminal columns: two for wide East Asian characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
