"""CHECK constraints. `ALTER TABLE … ADD … CHECK` becomes a value, because Spark plans it only for some conditions.
`CHECK (condition) NOT ENFORCED` in CREATE TABLE is rewritten, because Spark parses it but then refuses it.

In CREATE TABLE, a condition that is not enforced becomes one that is always true, with a mark. The bridge finds the
mark, and stores the condition as it was written. `ALTER TABLE … ADD COLUMN … GENERATED ALWAYS AS` is refused here, too.
"""

from __future__ import annotations

import re

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.rules.rule import Rule
from paimon_sql.preprocess.statements import AddCheck

_FIRST = ("CREATE", "REPLACE")
_VERBS = ("ADD", "MODIFY", "ALTER", "CHANGE")
_MARK = " OR /* not enforced */ TRUE"
_MARKED = re.compile(rf"\((.*)\){re.escape(_MARK)}", re.DOTALL)


def not_enforced(cursor: Cursor) -> list[Edit]:
    """Return the edits of each CHECK of a new table that is not enforced."""
    edits: list[Edit] = []
    if cursor.symbol() not in _FIRST:
        return edits
    while not cursor.at_end():
        opening = cursor.peek(1)
        if opening is None or not cursor.take("CHECK") or cursor.symbol() != "(":
            cursor.index += 1
            continue
        cursor.skip_parentheses()
        closing, first = cursor.last, cursor.index
        if cursor.take("NOT", "ENFORCED"):
            edits += [Edit.after(opening, "("), Edit.after(closing, f"{_MARK})"), cursor.replaced(first, "")]
    return edits


def written_condition(condition: str) -> tuple[str, bool]:
    """Return the condition of a CHECK as the statement has it, and whether it is enforced."""
    marked = _MARKED.fullmatch(condition.strip())
    return (marked[1], False) if marked else (condition, True)


def added_check(cursor: Cursor) -> AddCheck | None:
    """Read `ALTER TABLE t ADD [CONSTRAINT name] CHECK (…)`; None for other statements."""
    if not cursor.take("ALTER", "TABLE") or not (table := cursor.take_table()) or not cursor.take("ADD"):
        return None
    name = cursor.next_text() if cursor.take("CONSTRAINT") and cursor.at_name() else None
    opening = cursor.peek(1)
    if opening is None or not cursor.take("CHECK") or cursor.symbol() != "(":
        return None
    cursor.skip_parentheses()
    condition = opening.source[opening.end + 1 : cursor.last.start].strip()
    enforced, relies = True, False
    while cursor.symbol() in ("NOT", "ENFORCED", "RELY", "NORELY"):
        if cursor.take("NOT", "ENFORCED"):
            enforced = False
        elif cursor.take("RELY"):
            relies = True
        elif not cursor.take_any("ENFORCED", "NORELY"):
            return None
    return AddCheck(table, name, condition, enforced, relies) if condition and cursor.at_end() else None


def added_generated(cursor: Cursor) -> list[Edit]:
    """Raise `PreprocessError` if ALTER TABLE would add a generated column, or make a column one."""
    if not cursor.take("ALTER", "TABLE") or not cursor.take_name() or cursor.symbol() not in _VERBS:
        return []
    while not cursor.at_end():
        if cursor.symbol() == "GENERATED" and cursor.symbol(1) in ("ALWAYS", "BY"):
            raise PreprocessError.at(
                cursor.next(),
                "ALTER TABLE cannot add a column that is GENERATED ALWAYS AS …: rows that exist would have no value. "
                "Define it in CREATE TABLE, or add a plain column and fill it by UPDATE",
            )
        cursor.index += 1
    return []


ADDED_CHECK = Rule(
    added_check, first=("alter",), pattern=re.compile(r"\badd\s+(?:constraint\b.*)?\bcheck\b", re.DOTALL)
)
NOT_ENFORCED = Rule(
    not_enforced,
    first=tuple(word.lower() for word in _FIRST),
    words=("enforced",),
    pattern=re.compile(r"\bcheck\s*\("),
)
ADDED_GENERATED = Rule(added_generated, first=("alter",), words=("generated",))
