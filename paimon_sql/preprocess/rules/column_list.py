"""The column lists of CREATE TABLE and ALTER TABLE … ADD: their types, and the primary keys declared in them."""

from __future__ import annotations

from dataclasses import field

from paimon_core.dataclass import dataclass
from paimon_sql.preprocess.cursor import LIST_ENDS, Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import Token
from paimon_sql.preprocess.rules.column_types import TypeRewrites, read_type

_STORED = "a table's columns are stored. Leave it out and compute it in the query, or give it a type and insert it"
_COMPUTED = "a table's columns are stored. Give it a type and write GENERATED ALWAYS AS (…), or compute it in the query"
_STREAMING = "WATERMARK is for streaming jobs of Flink, which this session does not run: leave it out"
_KEY_STARTS = ("PRIMARY", "CONSTRAINT")
_CONSTRAINTS = ("CHECK", "UNIQUE", "FOREIGN")
_QUERY_STARTS = ("(", "SELECT", "WITH", "FROM", "VALUES", "TABLE")


@dataclass(frozen=True, slots=True)
class PrimaryKey:
    """One PRIMARY KEY constraint, of a column or of the table, and the edit that removes it."""

    token: Token
    columns: tuple[str, ...]
    enforced: bool
    removal: Edit


@dataclass(slots=True)
class ColumnList:
    types: TypeRewrites = field(default_factory=TypeRewrites)
    primary_keys: list[PrimaryKey] = field(default_factory=list)


def read_columns(cursor: Cursor) -> ColumnList | None:
    """Read the column list. Return an empty list if a query in parentheses or nothing follows, None if the list is
    never closed.
    """
    columns = ColumnList()
    if cursor.symbol() != "(" or cursor.symbol(1) in _QUERY_STARTS:
        return columns
    before = cursor.index
    cursor.index += 1
    while cursor.symbol() not in (")", ";", ""):
        first = cursor.index
        refuse_computed(cursor)
        if cursor.symbol() in _KEY_STARTS and (key := _take_primary_key(cursor, with_columns=True)):
            columns.primary_keys.append(PrimaryKey(*key, _item_removal(cursor, before, first)))
        elif not _at_constraint(cursor):
            _read_column(cursor, columns)
        while cursor.symbol() not in LIST_ENDS:
            cursor.skip()
        if cursor.take(","):
            before = cursor.index - 1
    return columns if cursor.take(")") else None


def _at_constraint(cursor: Cursor) -> bool:
    """Return whether a constraint of the table follows: CHECK (…), UNIQUE (…), FOREIGN KEY (…), with or without a
    name."""
    ahead = 2 if cursor.symbol() == "CONSTRAINT" and cursor.symbol(2) in _CONSTRAINTS else 0
    return cursor.symbol(ahead + 1) == "(" or (cursor.symbol(ahead), cursor.symbol(ahead + 1)) == ("FOREIGN", "KEY")


def read_added_types(cursor: Cursor) -> TypeRewrites:
    """Read the types after `ALTER TABLE t ADD`, of one column or of several in parentheses. Stop at the first type that
    Spark's SQL cannot express (`declared`).
    """
    types = TypeRewrites()
    cursor.take_any("COLUMN", "COLUMNS")
    opened = cursor.take("(")
    refuse_computed(cursor)
    while cursor.take_name():
        read_type(cursor, (), types)
        while cursor.symbol() not in LIST_ENDS:
            cursor.skip()
        if types.declared or not opened or not cursor.take(","):
            break
        refuse_computed(cursor)
    return types


def refuse_computed(cursor: Cursor) -> None:
    """Raise `PreprocessError` if the next item of a list is a column that Flink computes: tables do not store such
    columns.
    """
    second = cursor.symbol(1)
    if second == "FOR" and cursor.symbol() == "WATERMARK":
        raise PreprocessError.at(cursor.next(), _STREAMING)
    if second == "AS" and cursor.at_name():
        name = cursor.next()
        raise PreprocessError.at(name, f"Column {name.text!r} cannot be computed: {_COMPUTED}")


def refuse_watermark(cursor: Cursor) -> None:
    """Raise `PreprocessError` if ADD, MODIFY or DROP of a watermark follows."""
    verb, *follows = (cursor.symbol(ahead) for ahead in range(3))
    token = cursor.peek(1)
    if token and verb in ("ADD", "MODIFY", "DROP") and follows[0] == "WATERMARK" and follows[1] in ("FOR", "", ";"):
        raise PreprocessError.at(token, _STREAMING)


def _read_column(cursor: Cursor, columns: ColumnList) -> None:
    name = cursor.next_text()
    read_type(cursor, (name,), columns.types)
    while cursor.symbol() not in LIST_ENDS:
        before = cursor.index - 1
        if cursor.symbol() == "METADATA":
            raise PreprocessError.at(cursor.next(), f"Column {name!r} cannot be METADATA: {_STORED}")
        if cursor.symbol() in _KEY_STARTS and (key := _take_primary_key(cursor, with_columns=False)):
            token, _, enforced = key
            removal = Edit(cursor.tokens.end(before), cursor.last.end + 1, "")
            columns.primary_keys.append(PrimaryKey(token, (name,), enforced, removal))
        else:
            cursor.skip()


def _take_primary_key(cursor: Cursor, with_columns: bool) -> tuple[Token, tuple[str, ...], bool] | None:
    """Reads [CONSTRAINT name] PRIMARY KEY [(a, b)] and its characteristics."""
    named = 2 if cursor.symbol() == "CONSTRAINT" else 0
    if (cursor.symbol(named), cursor.symbol(named + 1)) != ("PRIMARY", "KEY"):
        return None
    if with_columns != (cursor.symbol(named + 2) == "("):
        return None
    cursor.index += named + 2
    token = cursor.tokens[cursor.index - 2]
    first = cursor.index
    if with_columns:
        cursor.skip_parentheses()
    return token, tuple(cursor.names(first)), _take_enforced(cursor)


def _take_enforced(cursor: Cursor) -> bool:
    """Read NOT ENFORCED, RELY and similar words. Return whether the constraint must be enforced."""
    enforced = False
    while cursor.symbol() in ("NOT", "ENFORCED", "RELY", "NORELY"):
        if cursor.take("ENFORCED"):
            enforced = True
        elif not (cursor.take("NOT", "ENFORCED") or cursor.take_any("RELY", "NORELY")):
            break  # NOT NULL
    return enforced


def _item_removal(cursor: Cursor, before: int, first: int) -> Edit:
    """Return the edit that removes the item from `first` to the cursor with one comma beside it, or the whole list if
    it is the only item. `before` is the index of the comma or parenthesis before the item.
    """
    if cursor.tokens.symbols[before] == ",":
        return cursor.replaced(before, "")
    if cursor.symbol() == ",":
        return Edit.at(cursor.tokens, first, "", cursor.index + 1 - first)
    if cursor.symbol() == ")":
        return Edit.at(cursor.tokens, before, "", cursor.index + 1 - before)
    return cursor.replaced(first, "")
