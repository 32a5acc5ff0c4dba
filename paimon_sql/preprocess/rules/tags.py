"""Tags as statements: SHOW TAGS as a query, ALTER TABLE … CREATE, REPLACE, DELETE and RENAME TAG as values."""

from __future__ import annotations

from typing import TypeVar

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.preprocess.rules.rule import Rule
from paimon_sql.preprocess.statements import CreateTag, DeleteTags, Name, RenameTag

_UNITS = ("DAYS", "HOURS", "MINUTES")
_CREATE = "write ALTER TABLE t CREATE TAG name [AS OF VERSION snapshot] [RETAIN number DAYS | HOURS | MINUTES]"
_DELETE = "write ALTER TABLE t DELETE TAG [IF EXISTS] name"
_RENAME = "write ALTER TABLE t RENAME TAG name TO other"
# A regular expression in Spark's SQL: it adds `$tags` to the last part of the name that an expression returns, in
# backquotes. It has no backslash, because a setting of Spark changes the meaning of backslashes.
_TAGS_OF = "regexp_replace(concat({}, '$tags'), '`([^`]+)`([$]tags)$|([^`.]+[$]tags)$', '`$1$2$3`')"
_Statement = TypeVar("_Statement", CreateTag, DeleteTags, RenameTag)


def show_tags(cursor: Cursor) -> list[Edit]:
    """Rewrite `SHOW TAGS t` to a query of `t$tags`."""
    first = cursor.index
    if not cursor.take("SHOW", "TAGS"):
        return []
    table = cursor.take_table()
    if not table or not cursor.at_end():
        return []
    name = ".".join(quoted_name(p) for p in [*table[:-1], f"{table[-1]}$tags"])
    if cursor.named_by:
        name = f"IDENTIFIER({_TAGS_OF.format(cursor.named_by)})"
    return [cursor.replaced(first, f"SELECT tag_name AS tag FROM {name}")]  # noqa: S608  quoted, or as written


def tag_statement(cursor: Cursor) -> CreateTag | DeleteTags | RenameTag | None:
    """Read `ALTER TABLE t CREATE TAG a …`, and REPLACE, DELETE or RENAME TAG; None for other statements. Raises
    `PreprocessError` for an incomplete statement.
    """
    if not cursor.take("ALTER", "TABLE") or not (table := cursor.take_table()):
        return None
    if cursor.take("CREATE", "OR", "REPLACE", "TAG"):
        return _create(cursor, table, replaces=True)
    if cursor.take("REPLACE", "TAG"):
        return _create(cursor, table, replaces=True, must_exist=True)
    if cursor.take("CREATE", "TAG"):
        return _create(cursor, table, if_not_exists=cursor.take("IF", "NOT", "EXISTS"))
    if cursor.take("DELETE", "TAG"):
        if_exists = cursor.take("IF", "EXISTS")
        return _whole(cursor, DeleteTags(table, _name(cursor, _DELETE), if_exists), _DELETE)
    if cursor.take("RENAME", "TAG"):
        tag = _name(cursor, _RENAME)
        if not cursor.take("TO"):
            raise _usage(cursor, _RENAME)
        return _whole(cursor, RenameTag(table, tag, _name(cursor, _RENAME)), _RENAME)
    return None


def _create(
    cursor: Cursor, table: Name, *, replaces: bool = False, must_exist: bool = False, if_not_exists: bool = False
) -> CreateTag:
    """Read the part after CREATE TAG: the name, the snapshot, and how long the tag is retained."""
    tag = _name(cursor, _CREATE)
    snapshot = retained = None
    if cursor.take("AS", "OF", "VERSION") and (snapshot := cursor.take_number()) is None:
        raise _usage(cursor, _CREATE)
    if cursor.take("RETAIN"):
        amount, unit = cursor.take_number(), cursor.symbol()
        if amount is None or not cursor.take_any(*_UNITS):
            raise _usage(cursor, _CREATE)
        retained = f"{amount} {unit.lower()}"
    return _whole(cursor, CreateTag(table, tag, replaces, must_exist, if_not_exists, snapshot, retained), _CREATE)


def _name(cursor: Cursor, usage: str) -> str:
    if not cursor.at_name():
        raise _usage(cursor, usage)
    return cursor.next_text()


def _whole(cursor: Cursor, statement: _Statement, usage: str) -> _Statement:
    """Return a statement that is read. Raises `PreprocessError` if more words follow."""
    if not cursor.at_last():
        raise _usage(cursor, usage)
    return statement


def _usage(cursor: Cursor, usage: str) -> PreprocessError:
    return PreprocessError.at(cursor.peek() or cursor.last, usage)


SHOW_TAGS = Rule(show_tags, first=("show",), words=("tags",))
TAGS = Rule(tag_statement, first=("alter",), words=("tag",))
