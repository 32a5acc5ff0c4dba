"""Tags as statements: SHOW TAGS as a query, ALTER TABLE … CREATE, REPLACE, DELETE and RENAME TAG as values."""

from __future__ import annotations

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.preprocess.rules.rule import Rule
from paimon_sql.preprocess.statements import CreateTag, DeleteTags, Name, RenameTag

_UNITS = ("DAYS", "HOURS", "MINUTES")
# A regular expression in Spark's SQL: it adds `$tags` to the last part of the name that an expression returns, in
# backquotes. It has no backslash, because a setting of Spark changes the meaning of backslashes.
_TAGS_OF = "regexp_replace(concat({}, '$tags'), '`([^`]+)`([$]tags)$|([^`.]+[$]tags)$', '`$1$2$3`')"


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
    """Read `ALTER TABLE t CREATE TAG a …`, and REPLACE, DELETE or RENAME TAG; None for other statements."""
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
        tag = _name(cursor)
        return None if tag is None else DeleteTags(table, tag, if_exists)
    if cursor.take("RENAME", "TAG"):
        tag = _name(cursor)
        target = _name(cursor) if cursor.take("TO") else None
        return RenameTag(table, tag, target) if tag and target else None
    return None


def _create(
    cursor: Cursor, table: Name, *, replaces: bool = False, must_exist: bool = False, if_not_exists: bool = False
) -> CreateTag | None:
    """Read the part after CREATE TAG: the name, the snapshot, and how long the tag is retained."""
    tag = _name(cursor)
    snapshot = retained = None
    if cursor.take("AS", "OF", "VERSION") and (snapshot := cursor.take_number()) is None:
        return None
    if cursor.take("RETAIN"):
        amount, unit = cursor.take_number(), cursor.symbol()
        if amount is None or not cursor.take_any(*_UNITS):
            return None
        retained = f"{amount} {unit.lower()}"
    return None if tag is None else CreateTag(table, tag, replaces, must_exist, if_not_exists, snapshot, retained)


def _name(cursor: Cursor) -> str | None:
    return cursor.next_text() if cursor.at_name() else None


SHOW_TAGS = Rule(show_tags, first=("show",), words=("tags",))
TAGS = Rule(tag_statement, first=("alter",), words=("tag",))
