"""Tags as statements: SHOW TAGS, and ALTER TABLE … CREATE, REPLACE, DELETE and RENAME TAG, as queries and calls."""

from __future__ import annotations

from sqlglot.tokens import TokenType

from paimon_sql.preprocess.lexing import Token, Tokens
from paimon_sql.preprocess.quoting import quoted_name, quoted_text
from paimon_sql.preprocess.tokens import Cursor, Edit

_UNITS = ("DAYS", "HOURS", "MINUTES")


def tag_statements(tokens: Tokens) -> list[Edit]:
    """`SHOW TAGS t` to a query of `t$tags`, `ALTER TABLE t CREATE TAG a …` and its like to `CALL`."""
    cursor = Cursor(tokens)
    if cursor.take("SHOW", "TAGS"):
        return _show(cursor, tokens[0])
    first = cursor.peek()
    if first is None or not cursor.take("ALTER", "TABLE"):
        return []
    table = _parts(cursor)
    text = _call(cursor, table) if table else ""
    return [Edit.replace(first, cursor.last, text)] if text and cursor.at_end() else []


def _show(cursor: Cursor, first: Token) -> list[Edit]:
    table = _parts(cursor)
    if not table or not cursor.at_end():
        return []
    name = ".".join(quoted_name(p) for p in [*table[:-1], f"{table[-1]}$tags"])
    return [Edit.replace(first, cursor.last, f"SELECT tag_name AS tag FROM {name}")]


def _call(cursor: Cursor, table: list[str]) -> str:
    """The call for what stands behind ALTER TABLE t; empty where that is about no tag."""
    if cursor.take("CREATE", "OR", "REPLACE", "TAG"):
        return _create(cursor, table, "create_or_replace")
    if cursor.take("REPLACE", "TAG"):
        return _create(cursor, table, "replace")
    if cursor.take("CREATE", "TAG"):
        return _create(cursor, table, "if_not_exists" if cursor.take("IF", "NOT", "EXISTS") else "create")
    if cursor.take("DELETE", "TAG"):
        if_exists = cursor.take("IF", "EXISTS")
        tag = _name(cursor)
        return "" if tag is None else _statement("delete_tags", table, {"tags": tag, "if_exists": if_exists})
    if cursor.take("RENAME", "TAG"):
        tag = _name(cursor)
        target = _name(cursor) if cursor.take("TO") else None
        return _statement("name_tag", table, {"tag": tag, "target_tag": target}) if tag and target else ""
    return ""


def _create(cursor: Cursor, table: list[str], mode: str) -> str:
    tag = _name(cursor)
    arguments: dict[str, str | int | bool] = {"tag": tag or "", "mode": mode}
    if cursor.take("AS", "OF", "VERSION"):
        version = _number(cursor)
        if version is None:
            return ""
        arguments["snapshot"] = int(version)
    if cursor.take("RETAIN"):
        amount, unit = _number(cursor), cursor.symbol()
        if amount is None or not cursor.take_any(*_UNITS):
            return ""
        arguments["time_retained"] = f"{amount} {unit.lower()}"
    return "" if tag is None else _statement("make_tag", table, arguments)


def _statement(procedure: str, table: list[str], arguments: dict[str, str | int | bool]) -> str:
    """A call in the table's catalog: the first part of a name of three."""
    catalog = f"{quoted_name(table[0])}." if len(table) > 2 else ""
    named = {"table": ".".join(quoted_name(p) for p in table[-2:])} | arguments
    return f"CALL {catalog}sys.{procedure}({', '.join(f'{k} => {_literal(v)}' for k, v in named.items())})"


def _parts(cursor: Cursor) -> list[str]:
    start = cursor.index
    if cursor.symbol() == "IDENTIFIER" or not cursor.take_name():
        return []
    return cursor.names(start)


def _name(cursor: Cursor) -> str | None:
    return cursor.next().text if cursor.at_name() else None


def _number(cursor: Cursor) -> str | None:
    token = cursor.peek()
    is_number = token is not None and token.token_type is TokenType.NUMBER and token.text.isdigit()
    return str(cursor.next().text) if is_number else None


def _literal(value: str | int | bool) -> str:
    if isinstance(value, bool | int):
        return str(value).lower()
    return quoted_text(value)
