"""SVG as text: shapes, labels, and one style for light and dark pages.

Colours differ in lightness as well as in hue, and files that an operation takes have an outline, so that everyone can
distinguish them, also in print. Texts are escaped: names and comments may contain markup of other users.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from paimon_core.escapes import visible

WIDTH = 860  # of every picture
AGES = 5  # colours of ages: age-0 is the oldest

# colours by class: on light pages, on dark pages
COLOURS = {
    "page": ("#ffffff", "#0d1117"),
    "label": ("#1f2328", "#e6edf3"),
    "note": ("#57606a", "#9198a1"),
    "grid": ("#d0d7de", "#30363d"),
    "age-0": ("#a6c8e4", "#1b3a57"),
    "age-1": ("#7fb1d8", "#24567f"),
    "age-2": ("#5598ca", "#3182bd"),
    "age-3": ("#2f7ebc", "#6baed6"),
    "age-4": ("#08519c", "#bdd7e7"),
    "due": ("#e69f00", "#e69f00"),
    "plus": ("#3182bd", "#6baed6"),
    "minus": ("#a63603", "#d4703a"),
    "other": ("#8c959f", "#6e7681"),
}
_TEXTS = ("label", "note")
_OUTLINED = "due"


def shown(text: object) -> str:
    """Return a text for SVG and HTML: without control characters, escaped. `$` begins formulas in notebooks."""
    return escape(visible(str(text), kept="")).replace("$", "&#36;")


def rect(x: float, y: float, width: float, height: float, name: str, title: str = "") -> str:
    """Return a rectangle of a class, with a text that browsers show beside the pointer."""
    inner = f"<title>{shown(title)}</title>" if title else ""
    size = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{max(height, 1):.1f}"'
    return f'<rect {size} rx="2" class="{name}">{inner}</rect>'


def label(x: float, y: float, text: object, name: str = "label", anchor: str = "start") -> str:
    """Return a text that begins at x (or ends there: anchor "end")."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{name}" text-anchor="{anchor}">{shown(text)}</text>'


def line(x1: float, y1: float, x2: float, y2: float) -> str:
    """Return a thin line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="grid-line"/>'


def dot(x: float, y: float, name: str, title: str = "") -> str:
    """Return a small circle of a class."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="{name}"><title>{shown(title)}</title></circle>'


def document(title: str, description: str, height: float, body: Iterable[str], *, styled: bool = True) -> str:
    """Return a whole picture; screen readers read its title and description. Without its style (`styled`), the page
    around it must have `style`.
    """
    own = f"<style>{style()}</style>" if styled else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="paimon" role="img" viewBox="0 0 {WIDTH} {height:.0f}"'
        f' width="{WIDTH}" height="{height:.0f}"><title>{shown(title)}</title><desc>{shown(description)}</desc>'
        f'{own}<rect width="{WIDTH}" height="{height:.0f}" class="page"/>{"".join(body)}</svg>'
    )


def style() -> str:
    """Return the colours and fonts of pictures as CSS."""

    def rules(column: int) -> str:
        fills = "".join(f".paimon .{name}{{fill:{colours[column]}}}" for name, colours in COLOURS.items())
        return f"{fills}.paimon .{_OUTLINED}{{stroke:{COLOURS['label'][column]};stroke-width:1.5}}"

    grid = COLOURS["grid"]
    return (
        ".paimon{max-width:100%;height:auto}.paimon text{font:12px sans-serif}.paimon text.title{font-size:15px}"
        f"{rules(0)}.paimon .title{{fill:{COLOURS['label'][0]}}}.paimon .grid-line{{stroke:{grid[0]}}}"
        f"@media(prefers-color-scheme:dark){{{rules(1)}.paimon .title{{fill:{COLOURS['label'][1]}}}"
        f".paimon .grid-line{{stroke:{grid[1]}}}}}"
    )
