"""Text for terminals: what would move the cursor, change colours or reorder characters is shown, not obeyed.

Names, comments, values and messages may hold what others wrote.
"""

from __future__ import annotations

import unicodedata


def visible(text: str, kept: str = "\n\t") -> str:
    """The text, with control and format characters that are not to be kept as escapes, `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(c if _is_shown(c) or c in kept else c.encode("unicode_escape").decode() for c in text)


def _is_shown(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"  # blanks of other widths
