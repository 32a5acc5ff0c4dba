"""Comparison of the rows of two engines: as JSON values, in any order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any


def cell(value: Any) -> Any:
    """Return a value of a PySpark row for JSON: decimals, dates and times as text, bytes as `x:hex`,
    structs as lists.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Decimal():
            return format(value, "f")
        case datetime():
            return str(value.replace(tzinfo=None))
        case date() | time() | timedelta():
            return str(value)
        case bytes() | bytearray():
            return "x:" + value.hex()
        case dict():
            return {str(k): cell(v) for k, v in value.items()}
        case list() | tuple():
            return [cell(v) for v in value]
    return str(value)


def cells(rows: Iterable[Sequence[Any]]) -> list[Any]:
    return [cell(tuple(r)) for r in rows]


def difference(expected: Sequence[Any], got: Sequence[Any], *, ordered: bool = False) -> str | None:
    """Return the missing rows and the rows that are too many, as a text; None if there are none. -0.0 is not 0.0, NaN
    is NaN.
    """
    wanted, found = list(map(_key, expected)), list(map(_key, got))
    if wanted == found or (not ordered and Counter(wanted) == Counter(found)):
        return None
    missing, extra = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
    if not missing and not extra:
        return f"order: expected {_few(wanted)}, got {_few(found)}"
    return f"missing {_few(missing.elements())}, not expected {_few(extra.elements())}"


def _key(row: Any) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=False)


def _few(rows: Iterable[str]) -> str:
    shown = list(rows)
    return f"[{', '.join(shown[:5])}{', …' if len(shown) > 5 else ''}] ({len(shown)} rows)"
