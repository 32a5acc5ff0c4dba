"""Names and texts as Spark's SQL spells them in quotes."""

from __future__ import annotations


def quoted_name(name: str) -> str:
    """One part of a name, in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def quoted_text(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
