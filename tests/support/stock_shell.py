"""Stories of the conformance tests as scripts for Spark's own `spark-sql`, and its output cell by cell.

A program runs many cases, each on a catalog of its own. `spark-sql` prints rows as Hive does: values between tabs,
which do not show their types. So expected values become patterns of texts. These accept what prints in the same way
(1 and '1', NULL and 'NULL'), and nothing else: values keep their order, structs their fields, blanks stay.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from tests.support.printed_errors import without_echo

_CATALOG = re.compile(r"\bpaimon(?=`?\.`?(?:default|db|db2|sys)\b)")  # other names are options of sessions
_OWN_CATALOG = re.compile(r"\bcatalog_of_\d+\b")
_TOOK = re.compile(r"Time taken: [\d.]+ seconds")  # below the rows of a statement, and of no statement that failed
_NOISE = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d [A-Z]+ ")
_NAMES_ONLY = re.compile(r"\s*SHOW\s+TABLES\b", re.IGNORECASE)  # Hive prints no databases there
_PADDED = re.compile(r"\s*(DESC|DESCRIBE)\b", re.IGNORECASE)  # Hive pads columns, and prints NULL as nothing
_MARK = "-- step {} of {} --"
_MARKED = re.compile(r"-- step (\d+) of (\S+) --")


def script(cases: Iterable[str], stories: Mapping[str, Any], root: str) -> str:
    """Return the statements of cases, each step behind a mark. The catalog of each case is in a folder below `root`."""
    lines = list[str]()
    for place, case in enumerate(cases):
        catalog = f"catalog_of_{place}"
        lines += [
            f"SET spark.sql.catalog.{catalog}=paimon_sql.SparkCatalog",
            f"SET spark.sql.catalog.{catalog}.warehouse={root}/{catalog}",
            f"USE {catalog}.default",
        ]
        for number, step in enumerate(stories[case]["steps"], 1):
            text = (step.get("sql") or step["query"]).replace("{tmp}", f"{root}/{catalog}-files")
            lines += [f"SELECT '{_MARK.format(number, case)}'", _CATALOG.sub(catalog, text)]
        lines += [f"SELECT '{_MARK.format(0, case)}'", "RESET"]
    return "".join(f"{line};\n" for line in lines)


@dataclass(slots=True)
class Printed:
    """The lines of a step, and how many statements have succeeded, with the one that prints the mark."""

    lines: list[str] = field(default_factory=list)
    succeeded: int = 0

    @property
    def has_failed(self) -> bool:
        return self.succeeded < 2


def outputs(text: str) -> Mapping[tuple[str, int], Printed]:
    """Return what each step of each case has printed, without Spark's own lines. All catalogs become `paimon`."""
    found = dict[tuple[str, int], Printed]()
    step = Printed()
    for line in _OWN_CATALOG.sub("paimon", text).split("\n"):
        mark = _MARKED.fullmatch(line)
        if mark is not None:
            step = found.setdefault((mark[2], int(mark[1])), Printed())
        elif _TOOK.match(line):
            step.succeeded += 1
        elif not _NOISE.match(line):
            step.lines.append(line)
    return found


def lacking(step: Mapping[str, Any], printed: Printed) -> str | None:
    """Return what a step's lines lack, None if they are as the step says."""
    message = "\n".join(printed.lines)
    if "error" in step:
        text = without_echo(message)
        is_met = printed.has_failed and re.search(step["error"], text, re.IGNORECASE | re.DOTALL)
        return None if is_met else f"no error {step['error']!r} in {text}"
    if printed.has_failed:
        return message or "it has failed"
    got = [line.split("\t") for line in printed.lines]
    text = step.get("query") or step.get("sql") or ""
    wanted = {key: step[key] for key in ("rows", "contains") if key in step}
    if _NAMES_ONLY.match(text):
        wanted = {key: [[row[1]] for row in rows] for key, rows in wanted.items()}
    if _PADDED.match(text):
        wanted = {
            key: [["" if c is None else str(c).strip(" ") for c in row] for row in rows] for key, rows in wanted.items()
        }
        got = [["" if cell == "NULL" else cell.strip(" ") for cell in row] for row in got]
    if "count" in step and len(got) != step["count"]:
        return f"{len(got)} rows instead of {step['count']}: {got[:20]}"
    if missing := [row for row in wanted.get("contains", []) if not any(_is_row(row, g) for g in got)]:
        return f"no {missing} in {got[:20]}"
    if "rows" not in wanted:
        return None
    return _rows_lacking(wanted["rows"], got, is_ordered=bool(step.get("ordered")))


def _rows_lacking(wanted: Sequence[Any], got: Sequence[Sequence[str]], *, is_ordered: bool) -> str | None:
    if is_ordered:
        is_same = len(wanted) == len(got) and all(map(_is_row, wanted, got))
        return None if is_same else f"expected {wanted}, got {got[:20]}"
    left = list(got)
    for row in wanted:
        place = next((i for i, g in enumerate(left) if _is_row(row, g)), None)
        if place is None:
            return f"no {row} in {left[:20]}"
        left.pop(place)
    return f"not expected: {left[:20]}" if left else None


def _is_row(wanted: Sequence[Any], got: Sequence[str]) -> bool:
    return len(wanted) == len(got) and all(map(_is_cell, wanted, got))


def _is_cell(wanted: Any, got: str) -> bool:
    match wanted:
        case None:
            return got == "NULL"
        case int() | float() if not isinstance(wanted, bool):
            with suppress(ValueError):
                number = float(got)
                both_nan = math.isnan(number) and math.isnan(wanted)
                return both_nan or math.isclose(wanted, number, rel_tol=1e-9, abs_tol=1e-12)
            return False
    return re.fullmatch(_pattern(wanted, quote=""), _shorter(got), re.DOTALL) is not None


def _pattern(wanted: Any, quote: str = '"?') -> str:
    """Return the pattern of the texts that Hive prints for a value. In a nested value, texts may have quotes."""
    match wanted:
        case None:
            return "null"
        case bool():
            return str(wanted).lower()
        case int() | float():
            return re.escape(str(wanted)) + ("" if isinstance(wanted, float) else r"(?:\.0)?")
        case list() | dict() if not wanted:
            return r"\[\]|\{\}"  # a map without entries is a list in cases
        case list():  # an array, or a struct: the output names its fields
            items = [f"(?:{_pattern(item)})" for item in wanted]
            fields = ",".join(f'"[^"]*":{item}' for item in items)
            return rf"\[{','.join(items)}\]|\{{{fields}\}}"
        case dict():
            entries = [rf"{_pattern(str(key))}:(?:{_pattern(value)})" for key, value in wanted.items()]
            return "|".join(rf"\{{{','.join(order)}\}}" for order in permutations(entries))
        case str() if wanted.startswith("x:"):
            return quote + re.escape(bytes.fromhex(wanted[2:]).decode(errors="replace")) + quote
    return quote + re.escape(_shorter(str(wanted))) + quote


def _shorter(text: str) -> str:
    """Return a text without the trailing zeros of a time's fraction."""
    return re.sub(r"(\d\d:\d\d:\d\d)\.(\d*?)0+\b", lambda m: f"{m[1]}.{m[2]}" if m[2] else m[1], text)
