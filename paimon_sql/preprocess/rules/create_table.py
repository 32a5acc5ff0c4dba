"""CREATE TABLE in Flink's style: WITH ('k'='v'), PRIMARY KEY (...) NOT ENFORCED, Flink's types.

The key becomes the table property `primary-key`, WITH becomes TBLPROPERTIES. Tables of another provider
(`USING parquet`, `STORED AS orc`) stay as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import field

from paimon_core.dataclass import dataclass
from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import Token
from paimon_sql.preprocess.quoting import quoted_text
from paimon_sql.preprocess.rules.column_list import ColumnList, PrimaryKey, read_columns
from paimon_sql.preprocess.rules.column_types import DECLARED_TYPES_PROPERTY
from paimon_sql.preprocess.rules.rule import Rule
from paimon_sql.preprocess.rules.table_like import refuse_columns, table_like

PRIMARY_KEY_PROPERTY = "primary-key"
_NO_CONNECTORS = (
    "Flink's connectors are not available in this session: tables of a catalog are Paimon tables. For files and other "
    "systems use CREATE TEMPORARY VIEW … USING … OPTIONS (…)"
)


@dataclass(slots=True)
class Clauses:
    """The clauses after the column list, up to the query of a CTAS."""

    behind_columns: Token  # the last token before the place for new properties
    provider: str | None = None
    keyword: Token | None = None  # the token WITH or TBLPROPERTIES
    opening: Token | None = None
    closing: Token | None = None
    is_empty: bool = False
    values: dict[str, str] = field(default_factory=dict)

    @property
    def is_with(self) -> bool:
        return self.keyword is not None and self.keyword.text.upper() == "WITH"


def create_table(cursor: Cursor) -> list[Edit]:
    """Return the edits of a CREATE or REPLACE TABLE. A statement without syntax of Flink needs no edits."""
    _refuse_temporary(cursor)
    if not _take_header(cursor):
        return []
    if copied := table_like(cursor):
        return copied
    behind_name = cursor.index
    columns = read_columns(cursor)
    if columns is None:
        return []
    if cursor.index > behind_name:
        refuse_columns(cursor)
    clauses = _read_clauses(cursor)
    is_flink = clauses.is_with or columns.primary_keys or columns.types.flink_only
    if clauses.provider not in (None, "paimon") or not is_flink:
        return []
    connector = clauses.values.get("connector", "paimon") if clauses.is_with else "paimon"
    if connector != "paimon":
        raise PreprocessError.at(clauses.behind_columns, _NO_CONNECTORS)
    edits = [*columns.types.edits, *(key.removal for key in columns.primary_keys)]
    if clauses.provider is None and not cursor.syntax.default_provider:
        edits.append(Edit.after(clauses.behind_columns, " USING paimon"))
    return edits + _property_edits(clauses, _new_properties(columns, clauses))


def computed_columns(cursor: Cursor) -> list[Edit]:
    """Raise `PreprocessError` for a new table with a computed column."""
    if _take_header(cursor):
        read_columns(cursor)
    return []


def _refuse_temporary(cursor: Cursor) -> None:
    """Raise `PreprocessError` for a temporary table of Flink, which reads another system through a connector."""
    tokens = cursor.tokens
    if tokens.symbols[cursor.index : cursor.index + 3] != ["CREATE", "TEMPORARY", "TABLE"]:
        return
    if any(tokens.is_string(i) and tokens.text(i).lower() == "connector" for i in range(len(tokens))):
        raise PreprocessError.at(cursor.tokens[cursor.index + 1], _NO_CONNECTORS)


def _take_header(cursor: Cursor) -> bool:
    if cursor.take("CREATE"):
        cursor.take("OR", "REPLACE")
    elif cursor.symbol() != "REPLACE" or not cursor.take("REPLACE"):
        return False
    if not cursor.take("TABLE"):
        return False
    cursor.take("IF", "NOT", "EXISTS")
    return cursor.take_name()


def _read_clauses(cursor: Cursor) -> Clauses:
    clauses = Clauses(behind_columns=cursor.last)
    while not cursor.at_end() and cursor.symbol() not in ("AS", "SELECT"):
        if cursor.take("USING"):
            first = cursor.index
            cursor.take_name()
            clauses.provider = "".join(part.text for part in cursor.tokens[first : cursor.index]).lower()
            clauses.behind_columns = cursor.last
        elif cursor.symbol() in ("STORED", "ROW"):
            clauses.provider = "hive"
            break
        elif cursor.symbol() in ("WITH", "TBLPROPERTIES") and cursor.symbol(1) == "(":
            _read_properties(cursor, clauses)
        elif cursor.symbol() == "(":
            cursor.skip_parentheses()
        else:
            cursor.next()
    return clauses


def _read_properties(cursor: Cursor, clauses: Clauses) -> None:
    clauses.keyword, clauses.opening = cursor.next(), cursor.peek()
    first = cursor.index + 1
    cursor.skip_parentheses()
    clauses.closing = cursor.last
    clauses.is_empty = first >= cursor.index - 1
    tokens = cursor.tokens
    for index in range(first, cursor.index - 3):
        if tokens.symbols[index + 1] == "=" and tokens.is_string(index + 2):
            clauses.values[tokens.text(index)] = tokens.text(index + 2)


def _new_properties(columns: ColumnList, clauses: Clauses) -> dict[str, str]:
    properties = {}
    if columns.primary_keys:
        key = _one_key(columns.primary_keys)
        given = clauses.values.get(PRIMARY_KEY_PROPERTY)
        if given is None:
            properties[PRIMARY_KEY_PROPERTY] = ",".join(key.columns)
        elif [name.strip().casefold() for name in given.split(",")] != [name.casefold() for name in key.columns]:
            raise PreprocessError.at(
                key.token,
                f"PRIMARY KEY ({', '.join(key.columns)}) differs from the table property '{PRIMARY_KEY_PROPERTY}' = "
                f"'{given}'; keep one of the two",
            )
    if columns.types.declared:
        properties[DECLARED_TYPES_PROPERTY] = json.dumps(columns.types.declared, ensure_ascii=False)
    return properties


def _one_key(keys: Sequence[PrimaryKey]) -> PrimaryKey:
    if len(keys) > 1:
        raise PreprocessError.at(
            keys[1].token, "A table has one primary key; name all its columns in one PRIMARY KEY (...) NOT ENFORCED"
        )
    if keys[0].enforced:
        raise PreprocessError.at(
            keys[0].token,
            "A primary key merges rows with equal keys instead of refusing them; write PRIMARY KEY NOT ENFORCED",
        )
    return keys[0]


def _property_edits(clauses: Clauses, properties: dict[str, str]) -> list[Edit]:
    added = ", ".join(f"{quoted_text(key)}={quoted_text(value)}" for key, value in properties.items())
    keyword, opening, closing = clauses.keyword, clauses.opening, clauses.closing
    if keyword is None or opening is None or closing is None:
        return [Edit.after(clauses.behind_columns, f" TBLPROPERTIES ({added})")] if added else []
    if clauses.is_empty and not added and clauses.is_with:
        return [Edit.replace(keyword, closing, "")]
    edits = [Edit.replace(keyword, keyword, "TBLPROPERTIES")] if clauses.is_with else []
    return [*edits, Edit.after(opening, added + ("" if clauses.is_empty else ", "))] if added else edits


CREATE_TABLE = Rule(
    create_table,
    first=("create", "replace"),
    pattern=re.compile(
        r"(?=[bdlmprtvw)])"  # each alternative begins with one of these, so most characters are skipped fast
        r"(?:\b(?:with|primary|bytes|row|multiset|varbinary|binary|varchar(?!\s*\()|timestamp(?:_ntz|_ltz)?(?=\s*\()"
        r"|double\s+precision|watermark|metadata|temporary|like(?=\s+[\w.`]+\s*\())\b"
        r"|\)\s*like\s+[\w`])"
    ),
)
COMPUTED_COLUMNS = Rule(
    computed_columns,
    first=("create", "replace"),
    # an item of the list that begins with a name and AS, before any query
    pattern=re.compile(
        r"\A(?>(?:(?!\b(?:as|select)\b)[^(])*)\((?:(?>(?:[^,(s]|s(?!elect\b))*)[,(])*?\s*+(?:\w++|`[^`]*+`)\s*+\bas\b"
    ),
)
