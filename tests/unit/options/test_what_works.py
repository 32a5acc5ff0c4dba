"""docs/what-works.md shows the options that the code refuses."""

from __future__ import annotations

import re
from pathlib import Path

from paimon_core.options.support import WRITE

ROOT = Path(__file__).parents[3]


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    table = text[text.index("\n| ") :].strip().partition("\n\n")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[1:]]


def test_the_page_has_every_option_that_is_refused() -> None:
    shown = rows("what-works.md", "Options that are refused")
    assert [row[0] for row in shown] == [f"`{feature.key}`" for feature in WRITE]
    for (_, works, where), feature in zip(shown, WRITE, strict=True):
        assert tuple(re.findall(r"`([^`]+)`", works)) == tuple(value for value in feature.works if value), feature.key
        assert where == ("tables with a primary key" if feature.keyed_only else "all tables")
