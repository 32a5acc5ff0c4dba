"""A hook of MkDocs: it adds the pages that are outside of docs/, and the files outside of docs/ that pages link to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {"README.md": "about.md", "CHANGELOG.md": "CHANGELOG.md", "CONTRIBUTING.md": "CONTRIBUTING.md"}
PAGES |= {"SECURITY.md": "SECURITY.md"}
_LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are outside of docs/, and the files that any page links to."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    for page in list(files.documentation_pages()):
        for link in _LINK.findall(page.content_string):
            place = _place(link, page.src_uri)
            if place is not None and not place.endswith(".md") and files.get_file_from_path(place) is None:
                files.append(File.generated(config, place, content=(ROOT / place).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Change links from the repository's paths to the site's."""
    return _LINK.sub(lambda found: _target(found[1], page.file.src_uri), markdown)


def _place(link: str, page: str) -> str | None:
    """Return the path in the repository of a link's target outside of docs/; None for other links."""
    folder = ROOT if page in PAGES.values() else ROOT / "docs"
    target = (folder / link).resolve()
    if not target.is_file() or not target.is_relative_to(ROOT) or target.is_relative_to(ROOT / "docs"):
        return None
    return target.relative_to(ROOT).as_posix()


def _target(link: str, page: str) -> str:
    place = _place(link, page)
    if place is not None:
        return PAGES.get(place, place)
    return link.removeprefix("docs/") if page in PAGES.values() else link
