"""`make docs` shows every page: the navigation names each once, and nothing that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
BESIDE = {"about.md": "README.md"} | {name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")}


def named(entries: Any) -> Iterator[str]:
    """The pages that a part of the navigation names."""
    if isinstance(entries, str):
        yield entries
        return
    for entry in entries if isinstance(entries, list) else entries.values():
        yield from named(entry)


def test_the_navigation_names_every_page_once() -> None:
    pages = list(named(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]))
    assert len(pages) == len(set(pages))
    assert set(pages) == {page.name for page in (ROOT / "docs").glob("*.md")} | set(BESIDE)
    assert all((ROOT / source).is_file() for source in BESIDE.values())


def test_the_readme_counts_the_java_sources() -> None:
    count = len(list((ROOT / "paimon_sql" / "spark" / "jvm" / "java").glob("*.java")))
    assert f"Python but for {count} small Java sources" in (ROOT / "README.md").read_text("utf-8")
