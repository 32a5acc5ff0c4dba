"""Functions of one column that expressions of generated columns call, recognised by the text of the expression."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from paimon_core.dataclass import dataclass

DATE_UNITS: Mapping[str, str] = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    "week": "week",
    **dict.fromkeys(("day", "dd"), "day"),
}
_TIME_UNITS = ("hour", "minute", "second")
_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|([A-Za-z_][A-Za-z0-9_]*)|'([^'\\]*)'|(\d{1,9})|([(),]))")
_FORMAT = re.compile(
    r"(yyyy)(?:([-/_. ]?)(MM)(?:([-/_. ]?)(dd)(?:([-/_. ]?|'T')(HH)(?:([-:_. ]?)(mm))?)?)?)?", re.ASCII
)
_PARTS = {"year": "year", "month": "month", "day": "day", "dayofmonth": "day", "hour": "hour"}


@dataclass(frozen=True, slots=True)
class MakingFunction:
    """A function of a column. `unit` is what a date or a moment is truncated to, `pieces` are the parts of a format of
    dates, `length` is the number of the first characters of a text. If `by_moment`, Spark computes it from a moment: it
    first puts a date or a wall clock into the time zone.
    """

    name: str
    column: str
    unit: str = "day"
    pieces: tuple[str, ...] = ()
    length: int = 0
    by_moment: bool = False


@dataclass(frozen=True, slots=True)
class _Column:
    name: str


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    arguments: tuple[object, ...]


def function_of(expression: str) -> MakingFunction | None:
    """Return the function that an expression calls, or None for any other expression."""
    try:
        tokens = _tokens(expression)
        node, end = _node(tokens, 0)
    except (ValueError, IndexError, RecursionError):
        return None
    return _function(node) if end == len(tokens) else None


def _function(node: object) -> MakingFunction | None:
    match node:
        case _Call("cast", (inner, "date")) | _Call("date" | "to_date", (inner,)):
            if isinstance(inner, _Column):
                return MakingFunction("date", inner.name)
            within = _function(inner)
            if within is not None and within.name == "date_trunc":
                unit = "day" if within.unit in _TIME_UNITS else within.unit
                return MakingFunction("date", within.column, unit, by_moment=True)
        case _Call("cast", (inner, "string")):
            within = _function(inner)
            if within is not None and within.name == "date" and within.unit == "day":
                return MakingFunction("date_format", within.column, pieces=("yyyy", "-", "MM", "-", "dd"))
        case _Call("trunc", (_Column(name), str(unit))) if DATE_UNITS.get(unit.lower(), "day") != "day":
            return MakingFunction("date", name, unit.lower())
        case _Call("date_trunc", (str(unit), _Column(name))) if unit.lower() in (*DATE_UNITS, *_TIME_UNITS):
            return MakingFunction("date_trunc", name, unit.lower(), by_moment=True)
        case _Call("date_format", (_Column(name), str(text))):
            found = _FORMAT.fullmatch(text)
            pieces = () if found is None else tuple(g.strip("'") for g in found.groups() if g)
            return MakingFunction("date_format", name, pieces=pieces, by_moment=True) if pieces else None
        case _Call("substring" | "substr", (_Column(name), 0 | 1, int(length))) | _Call(
            "left", (_Column(name), int(length))
        ):
            return MakingFunction("prefix", name, length=length) if length else None
        case _Call(called, (_Column(name),)) if called in _PARTS:
            return MakingFunction(_PARTS[called], name)
    return None


def _tokens(text: str) -> list[tuple[str, str]]:
    """Return the words, texts, numbers and symbols of an expression. Raises `ValueError` for anything else."""
    found, position, text = [], 0, text.strip()
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise ValueError(text)
        position = token.end()
        quoted, word, literal, number, symbol = token.groups()
        if quoted is not None:
            found.append(("column", quoted[1:-1].replace("``", "`")))
        elif word is not None:
            found.append(("word", word))
        elif literal is not None:
            found.append(("text", literal))
        else:
            found.append(("number", number) if number is not None else ("symbol", symbol))
    return found


def _node(tokens: Sequence[tuple[str, str]], start: int) -> tuple[object, int]:
    """Return the node that begins at a token, and the place after it."""
    kind, text = tokens[start]
    if kind == "text":
        return text, start + 1
    if kind == "number":
        return int(text), start + 1
    if kind == "symbol":
        if text != "(":
            raise ValueError(text)
        node, end = _node(tokens, start + 1)
        _expect(tokens, end, ")")
        return node, end + 1
    if kind == "column" or start + 1 == len(tokens) or tokens[start + 1] != ("symbol", "("):
        return _Column(text), start + 1
    arguments, place = [], start + 2
    while True:
        node, place = _node(tokens, place)
        arguments.append(node)
        if text.lower() == "cast" and tokens[place] == ("word", tokens[place][1]) and tokens[place][1].lower() == "as":
            arguments.append(tokens[place + 1][1].lower())
            place += 2
        if tokens[place] == ("symbol", ")"):
            return _Call(text.lower(), tuple(arguments)), place + 1
        _expect(tokens, place, ",")
        place += 1


def _expect(tokens: Sequence[tuple[str, str]], place: int, symbol: str) -> None:
    if tokens[place] != ("symbol", symbol):
        raise ValueError(symbol)
