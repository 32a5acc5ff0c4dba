"""The blocks of code in the pages of the documentation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>not run|fails|since): (?P<why>[^\n]+) -->\n)?^```(?P<language>sql|python)\n(?P<code>.*?)^```\n"
    r"(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.M | re.S,
)
WITHOUT_SPARK = frozenset(("python.md",))  # pages that tests/unit/python/test_page.py runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    line: int
    mark: str | None
    why: str | None
    language: str
    code: str
    output: str | None


def blocks_of(page: Path) -> list[Block]:
    """The blocks of SQL and Python in a page, in order, with their marks and their output."""
    text = page.read_text(encoding="utf-8")
    return [Block(line=text.count("\n", 0, m.start("code")), **m.groupdict()) for m in BLOCK.finditer(text)]
