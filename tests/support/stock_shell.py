"""Stories of the conformance tests as scripts for Spark's own `spark-sql`, and its output cell by cell.

A program runs many cases, each on a catalog of its own. `spark-sql` prints rows as Hive does: values between tabs,
which do not show their types. So expected values become texts, too.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

_CATALOG = re.compile(r"\bpaimon(?=\.(?:default|db|sys)\b)")  # other names are options of sessions
_OWN_CATALOG = re.compile(r"\bcatalog_of_\d+\b")
_NOISE = re.compile(r"Time taken: [\d.]+ seconds|\d\d/\d\d/\d\d \d\d:\d\d:\d\d [A-Z]+ ")
_NAMES_ONLY = re.compile(r"\s*SHOW\s+TABLES\b", re.IGNORECASE)  # Hive prints no databases there
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


def outputs(text: str) -> Mapping[tuple[str, int], Sequence[str]]:
    """Return the lines that each step of each case has printed, without Spark's own. All catalogs become `paimon`."""
    found = dict[tuple[str, int], list[str]]()
    lines: list[str] = []
    for line in _OWN_CATALOG.sub("paimon", text).splitlines():
        mark = _MARKED.fullmatch(line)
        if mark is not None:
            lines = found.setdefault((mark[2], int(mark[1])), [])
        elif not _NOISE.match(line):
            lines.append(line)
    return found


def lacking(step: Mapping[str, Any], lines: Sequence[str]) -> str | None:
    """Return what a step's lines lack, None if they are as the step says."""
    if "error" in step:
        text = "\n".join(lines)
        return None if re.search(step["error"], text, re.IGNORECASE | re.DOTALL) else f"no {step['error']!r} in {text}"
    if _NAMES_ONLY.match(step.get("query") or step.get("sql") or ""):
        step = {**step, **{key: [[row[1]] for row in step[key]] for key in ("rows", "contains") if key in step}}
    got = [[cell.strip(" ") for cell in line.split("\t")] for line in lines]
    if "count" in step and len(got) != step["count"]:
        return f"{len(got)} rows instead of {step['count']}: {got[:20]}"
    if missing := [row for row in step.get("contains", []) if not any(_is_row(row, g) for g in got)]:
        return f"no {missing} in {got[:20]}"
    if "rows" not in step:
        return None
    return _rows_lacking(step["rows"], got, is_ordered=bool(step.get("ordered")))


def _rows_lacking(wanted: Iterable[Any], got: Sequence[Sequence[str]], *, is_ordered: bool) -> str | None:
    left, rows = list(got), list(wanted)
    if is_ordered:
        is_same = len(rows) == len(left) and all(map(_is_row, rows, left))
        return None if is_same else f"expected {rows}, got {left[:20]}"
    for row in rows:
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
            return got in {"NULL", ""}
        case bool():
            return got == str(wanted).lower()
        case int() | float():
            with suppress(ValueError):
                number = float(got)
                both_nan = math.isnan(number) and math.isnan(wanted)
                return both_nan or math.isclose(wanted, number, rel_tol=1e-9, abs_tol=1e-12)
            return False
        case str() if wanted.startswith("x:"):
            return got.encode("utf-8", "surrogateescape") == bytes.fromhex(wanted[2:])
        case list() | dict():
            texts = _flat(json.dumps(wanted, ensure_ascii=False, default=str))
            return sorted(bytes.fromhex(t[2:]).decode() if t.startswith("x:") else t for t in texts) == _flat(got)
    return _instant(str(wanted)).strip(" ") == _instant(got)  # `DESCRIBE` pads its columns, so blanks are not compared


def _flat(text: str) -> list[str]:
    """Return the values of a nested text, without names and keys: a struct is a list in cases, an object in output."""
    without_keys = re.sub(r'"[^"]*":\s*|(?<=[{,])[^\s{},:"\[\]]+:', "", text)
    return sorted(re.findall(r"[^\s\[\]{}\",]+", without_keys))


def _instant(text: str) -> str:
    """Return a text without the trailing zeros of a time's fraction, and without its midnight."""
    shorter = re.sub(r"(\d\d:\d\d:\d\d\.\d*?)0+$", r"\1", text).rstrip(".")
    return shorter if re.match(r"\d{4,}-\d\d-\d\d ", shorter) else text
