"""Reads the SQL fixtures of this directory; README.md says how they are written."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def plain_statements() -> list[str]:
    return _blocks(_HERE / "plain_spark.sql")


def rewrite_pairs() -> list[tuple[str, str]]:
    pairs = [block.split("\n=>\n") for path in sorted((_HERE / "rewrite").glob("*.sql")) for block in _blocks(path)]
    return [(written, expected) for written, expected in pairs]


def _blocks(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n---\n")
