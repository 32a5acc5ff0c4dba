"""docs/options.md has every option of Paimon's tables, and says correctly whether it has an effect."""

from __future__ import annotations

import re
from pathlib import Path

from paimon_core.options import TABLE_OPTIONS
from tests.support.paimon_options import paimon_options

PAGE = Path(__file__).parents[3] / "docs" / "options.md"


def named(text: str) -> set[str]:
    """The options in tables: what stands in the first cells of rows, and in the second where these name pages."""
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.startswith("|")]
    cells = (first if "`" in first else second for first, second in rows)
    return {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}


def test_every_option_is_on_the_page() -> None:
    head, *parts = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)
    sections = {part.partition("\n")[0]: named(part) for part in parts}
    assert [len(s) for s in sections.values()] and not named(head)
    keys = {o.key for o in paimon_options()}
    everywhere = [key for section in sections.values() for key in section]
    assert keys - set(everywhere) == set()
    assert len(everywhere) == len(set(everywhere)), "named in two sections"
    known = {o.key for o in TABLE_OPTIONS}
    assert sections["Without effect"] & known == set()
    assert sections["Without effect"] <= keys


def test_pages_tell_of_the_options_they_are_said_to() -> None:
    section = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)[1]
    for line in section.splitlines():
        if not line.startswith("| ") or "`" not in line:
            continue
        pages = [PAGE.parent / name for name in re.findall(r"\(([\w-]+\.md)[#)]", line.split("|")[1])]
        assert pages, line
        text = " ".join(page.read_text(encoding="utf-8") for page in pages)
        for key in named(line):
            assert key in text, f"{key} is not on {pages}"
