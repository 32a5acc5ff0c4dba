"""A picture of a table in three forms: SVG, HTML with a table of its values, and text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.escapes import visible
from paimon_sql.pictures.svg import document, label, shown

NARROWEST = 40  # characters of a line of a terminal
_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")
_EIGHTHS = " ▏▎▍▌▋▊▉"


class PictureKind(StrEnum):
    LSM = "lsm"
    TIMELINE = "timeline"
    FILES = "files"
    PARTITIONS = "partitions"
    BRANCHES = "branches"
    SCHEMAS = "schemas"


@dataclass(frozen=True, slots=True)
class Choice:
    """The part of a table to draw, for the LSM map: a partition as `$partitions` shows it, and a bucket.

    The picture shows the effect of the operation `after`: `compact` or `minor compact` in an LSM map,
    `expire_snapshots` in a timeline.
    """

    partition: str | None = None
    bucket: int | None = None
    after: str | None = None

    def __post_init__(self) -> None:
        for name, wanted in (("partition", str), ("bucket", int), ("after", str)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
                what = "a text" if wanted is str else "a whole number"
                raise TypeError(f"{name} must be {what}, or None, not a value of type {type(value).__name__}.")


WHOLE = Choice()


class PictureFormat(StrEnum):
    TEXT = "text"
    SVG = "svg"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: its title, one sentence about it, its drawing in SVG, the values as a table, and a function that
    returns the lines of text for a width in characters.
    """

    title: str
    summary: str
    drawing: tuple[float, tuple[str, ...]]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    lines: Callable[[int], Iterable[str]]

    def svg(self, *, styled: bool = True) -> str:
        """Return the picture as an SVG document; see `document`."""
        height, body = self.drawing
        head = (label(16, 26, self.title, "title"), label(16, 46, self.summary, "note"))
        return document(self.title, self.summary, height, (*head, *body), styled=styled)

    def html(self, *, styled: bool = True) -> str:
        """Return the picture and the table of its values as a piece of HTML, without scripts; see `document`."""
        head = "".join(f'<th scope="col">{shown(c)}</th>' for c in self.columns)
        rows = "".join("<tr>" + "".join(f"<td>{shown(_cell(v))}</td>" for v in row) + "</tr>" for row in self.rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f"<figure>{self.svg(styled=styled)}<details><summary>Values</summary>{table}</details></figure>"

    def text(self, width: int = 100) -> str:
        """Return the picture as lines of at most `width` characters, which no terminal reads as commands."""
        width = max(width, NARROWEST)
        lines = [self.title, self.summary, "", *self.lines(width)]
        return "".join(cut(visible(each, kept=""), width).rstrip() + "\n" for each in lines)

    def written(self, form: PictureFormat, width: int = 100) -> str:
        """Return the picture in a format."""
        if form is PictureFormat.TEXT:
            return self.text(width)
        return self.svg() if form is PictureFormat.SVG else self.html()


def page(title: str, pieces: Sequence[str]) -> str:
    """Return pieces of HTML as a document that loads nothing."""
    style = "body{font:14px sans-serif;margin:16px}td,th{padding:2px 10px;text-align:left}figure{margin:0 0 32px}"
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>{shown(title)}</title>'
        f"<style>{style}</style></head><body>{''.join(pieces)}</body></html>"
    )


# -- texts ------------------------------------------------------------------------------------------------------------
def bytes_text(size: int) -> str:
    """Return a number of bytes with three digits, such as "1.2 MB" (1 KB is 1,024 bytes)."""
    number, unit = float(size), 0
    while number >= 999.5 and unit + 1 < len(_UNITS):
        number, unit = number / 1024, unit + 1
    digits = 0 if unit == 0 or number >= 99.5 else 1
    return f"{number:.{digits}f} {_UNITS[unit]}"


def count_text(count: int, noun: str) -> str:
    """Return "1 file" or "1,200 files"; the plural of -y and -ch is known."""
    plural = noun if count == 1 else noun + "es" if noun.endswith("ch") else noun + "s"
    return f"{count:,} {plural}"


def cut(text: str, width: int) -> str:
    """Return a text of at most `width` characters. Control characters are escaped first, which makes them longer."""
    shown = visible(text[: width + 1], kept="")
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def bar(share: float, width: int) -> str:
    """Return a bar for a share of 0 to 1, in eighths of a character; a share above 0 is never empty."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    eighths = max(eighths, 1) if share > 0 else eighths
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
