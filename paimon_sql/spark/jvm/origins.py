"""Positions in a statement: from positions in the text that Spark parsed to positions in the text that the user wrote.

Errors of Spark's parser, analyzer and tasks then show the user's own text, and positions in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.preprocess import Rewriting
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.exceptions import places
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import constructor, field, hook, method


@hook(
    "`TreeNode.origin`, private fields of `Origin`",
    "errors of rewritten statements show the text that Spark parsed",
    method(classes.TREE_NODE, "origin", 0),
    *(field(classes.ORIGIN, name) for name in ("line", "startPosition", "startIndex", "stopIndex", "sqlText")),
)
def with_written_origins(jvm: Jvm, plan: JavaObject, statement: Rewriting) -> Any:
    """Return the plan of a rewriting's text, with the positions of its nodes in the text that the user wrote."""
    if not statement.edits:
        return plan
    numbers = " ".join(f"{start} {end} {grown}" for start, end, grown in statement.growths())
    return jvm.compiled("StatementOrigins").moved(plan, statement.text, statement.written, numbers)


def position_text(expression: JavaObject) -> str:
    """Return the position of an expression in the statement, in the form of Spark's messages."""
    found = expression.origin()
    if found.line().isEmpty() or found.startPosition().isEmpty():
        return ""
    return f"; line {found.line().get()} pos {found.startPosition().get()}"


@hook(
    "`ParseException.start`, `SQLQueryContext`",
    "syntax errors of rewritten statements show the text that Spark parsed",
    method(classes.PARSE_EXCEPTION, "start", 0),
    constructor(classes.SQL_QUERY_CONTEXT, 7),
)
def with_written_position(jvm: Jvm, error: JavaObject, statement: Rewriting) -> JavaObject:
    """Return a ParseException about a rewriting's text as one about the text that the user wrote."""
    start = error.start()
    if error.getCondition() is None or start.line().isEmpty():
        return error
    line, column = statement.position((int(start.line().get()), int(start.startPosition().get())))
    contexts = []
    for context in error.getQueryContext():
        first, last = statement.offset(int(context.startIndex())), statement.offset(int(context.stopIndex()))
        numbers = map(jvm.some, (*statement.position_at(first), first, last))
        made = jvm.java_class(classes.SQL_QUERY_CONTEXT)
        contexts.append(made(*numbers, jvm.some(statement.written), jvm.none, jvm.none))
    return _parse_exception(
        jvm, statement.written, (line, column), error.getCondition(), error.messageParameters(), contexts
    )


def parse_exception_at(
    jvm: Jvm, written: str, position: tuple[int, int], condition: str, parameters: Mapping[str, str]
) -> JavaObject:
    """Return a ParseException about a line and column of a statement."""
    return _parse_exception(jvm, written, position, condition, jvm.scala_map(parameters), [])


@hook("`Origin`", "every syntax error of this package", constructor(classes.ORIGIN, 0, fits=True))
def origin(jvm: Jvm, *position: int) -> JavaObject:
    """Return a position in a statement, by line and column; an empty position without them."""
    given = [jvm.some(number) for number in position]
    return jvm.java_class(classes.ORIGIN)(*jvm.fitted(classes.ORIGIN, "", *given))


def _parse_exception(
    jvm: Jvm,
    written: str,
    position: tuple[int, int],
    condition: str,
    parameters: JavaObject,
    contexts: list[JavaObject],
) -> JavaObject:
    found = jvm.array(classes.QUERY_CONTEXT, contexts)
    made = jvm.java_class(classes.PARSE_EXCEPTION)
    return made(jvm.some(written), *places(jvm, origin(jvm, *position)), condition, parameters, found)
