"""The options of Paimon's tables, as its configuration page lists them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PaimonOption:
    """`kind` is Java's: Boolean, Integer, Long, Double, Float, Duration, MemorySize, Map, Enum or String. `default` is
    written as the option's value is, "" for none."""

    key: str
    kind: str
    values: tuple[str, ...]
    default: str


def paimon_options() -> list[PaimonOption]:
    with Path(__file__).with_suffix(".csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        PaimonOption(r["option"], r["type"], tuple(filter(None, r["values"].split("|"))), r["default"].strip('"'))
        for r in rows
    ]
