"""Text for terminals: characters that would move the cursor, change colours or reorder text are escaped.

Names, comments, values and messages may contain text of other users.
"""

from __future__ import annotations

import unicodedata


def visible(text: str, kept: str = "\n\t") -> str:
    """Escape control and format characters, for example as `\x1b`, except the characters in `kept`."""
    if text.isprintable():
        return text
    return "".join(c if _is_shown(c) or c in kept else c.encode("unicode_escape").decode() for c in text)


def _is_shown(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"  # spaces of other widths
