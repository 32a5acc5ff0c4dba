"""Names and texts as Spark's SQL spells them in quotes."""

from __future__ import annotations

import re

from paimon_core.spec.identifier import sql_string

PATHS = "paimon_path"  # in this catalog, a table's name is its path
IS_PATH = re.compile(r"/|[A-Za-z][\w+.-]*:/")  # the beginning of such a name
_NAME_OF_PATH = re.compile(r"\s*`?paimon`?\s*\.\s*`((?:[^`]|``)*)`\s*", re.IGNORECASE)
_SYSTEM_TABLE = re.compile(r"`(?:[^`]|``)*`|(?<!\w)\w++(?:\$\w++)+")


def quoted_name(name: str) -> str:
    """One part of a name, in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def quoted_text(text: str) -> str:
    """A string literal."""
    return sql_string(text)


def with_quoted_system_tables(name: str) -> str:
    """Quote parts such as `t$files` of a full name, which Spark cannot parse without backquotes."""
    return _SYSTEM_TABLE.sub(lambda part: part[0] if part[0].startswith("`") else quoted_name(part[0]), name)


def with_path_catalog(name: str) -> str:
    """Return the full name of a table that is named by its format and path, ``paimon.`/path` ``, in the catalog of
    paths.
    """
    found = _NAME_OF_PATH.fullmatch(name)
    return f"{PATHS}.`{found[1]}`" if found and IS_PATH.match(found[1]) else name
