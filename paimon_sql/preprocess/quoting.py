"""Names and texts as Spark's SQL spells them in quotes."""

from __future__ import annotations

import re

_SYSTEM_TABLE = re.compile(r"`(?:[^`]|``)*`|\w+(?:\$\w+)+")


def quoted_name(name: str) -> str:
    """One part of a name, in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def quoted_text(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def with_quoted_system_tables(name: str) -> str:
    """A full name whose parts such as `t$files`, which Spark cannot parse bare, are in backquotes."""
    return _SYSTEM_TABLE.sub(lambda part: part[0] if part[0].startswith("`") else quoted_name(part[0]), name)
