"""The magics `%%sql` and `%%paimon`.

A cell is divided into statements. `{expression}` outside of quotes is a value of the notebook, bound as a parameter
(`bound`). Each statement runs once. The rows of the last one are shown, up to `--limit`. With `name <<`, its DataFrame
gets a name and is not executed. Failures raise `SqlError`, which IPython shows as one short block.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from paimon_core.dataclass import dataclass
from paimon_core.time_zones import time_zone
from paimon_sql.notebook.answer import Cancelled, CellAnswer, CellDone, SqlError, progress_of
from paimon_sql.preprocess import ScriptStatement, split_statements
from paimon_sql.preprocess.lexing import Tokens, scan, without_dollar_strings
from paimon_sql.session import shows_system_tables
from paimon_sql.shell.errors import describe, line_in_statement
from paimon_sql.shell.interrupts import cancelling
from paimon_sql.shell.render import Result

_LIMIT = 20  # rows shown
_HEAD = re.compile(r"\s*(?:--limit[ =](?P<limit>\d+)\s*)?(?:(?P<name>[^\W\d]\w*)\s*<<)?\s*")
_OPTION = re.compile(r"--\w")
_TAG = "paimon-sql-cell"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its SQL, how many rows to show (0: all), the name for its DataFrame, and the number of cell lines above
    the SQL.
    """

    sql: str
    limit: int = _LIMIT
    name: str | None = None
    lines_above: int = 0


def read_cell(line: str, body: str | None) -> Cell:
    """Return the cell of `%%sql LINE` above a body, or of `%sql LINE`."""
    head = _HEAD.match(line)
    assert head is not None, "all of it is optional"
    limit = _LIMIT if head["limit"] is None else int(head["limit"])
    rest = line[head.end() :]
    if _OPTION.match(rest):
        raise UsageError(
            f"%%sql has no option {rest.split()[0]}: use --limit N, then name <<. A comment is -- followed by a blank."
        )
    if body is None:
        return Cell(rest, limit, head["name"])
    if rest.strip():
        return Cell(f"{rest}\n{body}", limit, head["name"])
    return Cell(body, limit, head["name"], lines_above=1)


def run_cell(cell: Cell, session: Any, evaluate: Callable[[str], Any]) -> Any:
    """Run the statements. Return the `CellAnswer` of the last one, `CellDone` if it has no rows, or its DataFrame if it
    is named.

    Raises `SqlError`, and `Cancelled` if the user cancelled the cell.
    """
    answer: Any = None
    statements = split_statements(cell.sql)
    for number, statement in enumerate(statements, 1):
        is_last = number == len(statements)
        answer = _run(statement, cell, session, evaluate, only_named=is_last and cell.name is not None)
    return answer


def _run(statement: ScriptStatement, cell: Cell, session: Any, evaluate: Callable[[str], Any], only_named: bool) -> Any:
    started, context = time.perf_counter(), session.sparkContext
    context.addJobTag(_TAG)  # unlike the session's own tags, the thread that cancels can use it
    try:
        with cancelling(lambda: context.cancelJobsWithTag(_TAG)) as cancelled, progress_of(context, statement.text):
            with bound(statement.text, evaluate, session) as (text, values):
                frame = session.sql(text, args=values) if values else session.sql(text)
            answer = frame if only_named else _answer(frame, cell.limit, started, session)
    except Exception as error:
        if cancelled.is_set():
            raise Cancelled from error
        line = statement.line + line_in_statement(error) - 1
        raise SqlError(describe(error), line + cell.lines_above, cell.sql.splitlines()[line - 1]) from error
    finally:
        context.removeJobTag(_TAG)
    if cancelled.is_set():
        raise Cancelled
    return answer


def html_of_frame(frame: Any) -> str | None:
    """Return the first rows of a DataFrame of system tables as an HTML table. Return PySpark's own HTML for other
    DataFrames, because reading their rows may take long.
    """
    if not shows_system_tables(frame):
        text: str | None = frame._repr_html_()
        return text
    answer = _answer(frame, _LIMIT, time.perf_counter(), frame.sparkSession)
    return replace(answer, hint="show(100) prints 100")._repr_html_() if isinstance(answer, CellAnswer) else None


def _answer(frame: Any, limit: int, started: float, session: Any) -> CellAnswer | CellDone:
    if not frame.columns:
        return CellDone(time.perf_counter() - started)
    rows = frame.limit(limit + 1).collect() if limit else frame.collect()
    shown = rows[:limit] if limit else rows
    result = Result(
        columns=frame.columns,
        kinds=[field.dataType for field in frame.schema.fields],
        rows=shown,
        zone=time_zone(session.conf.get("spark.sql.session.timeZone")),
    )
    return CellAnswer(frame, result, has_more=len(rows) > len(shown), seconds=time.perf_counter() - started)


@magics_class
class SqlMagics(Magics):  # type: ignore[misc]
    """The magics. `session` returns the Spark session that cells run in."""

    def __init__(self, shell: Any, session: Callable[[], Any]) -> None:
        super().__init__(shell)
        self.session = session

    @no_var_expand  # type: ignore[untyped-decorator]
    @line_cell_magic  # type: ignore[untyped-decorator]
    def sql(self, line: str, cell: str | None = None) -> Any:
        """Run SQL on the Spark session: `%%sql [--limit N] [name <<]`, with statements below it or on the same line."""
        asked = read_cell(line, cell)
        answer = run_cell(asked, self.session(), self.shell.ev)
        if asked.name is None:
            return answer
        self.shell.user_ns[asked.name] = answer
        return None

    @no_var_expand  # type: ignore[untyped-decorator]
    @line_cell_magic  # type: ignore[untyped-decorator]
    def paimon(self, line: str, cell: str | None = None) -> Any:
        """Run `%%sql` under a second name, for notebooks in which another extension has `%%sql`."""
        return self.sql(line, cell)


# A value becomes a parameter of Spark (`:name`), so Spark never parses it as SQL. A DataFrame becomes a temporary view
# while Spark analyzes the statement.
@contextmanager
def bound(text: str, evaluate: Callable[[str], Any], session: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Replace each value in a statement by a name. Yield the statement, and the values by these names. Raises what
    `evaluate` raises.
    """
    values: dict[str, Any] = {}
    views: list[str] = []
    parts, behind = [], 0
    tokens, _ = scan(without_dollar_strings(text))  # a function's code in Python may have braces
    for start, end in _braces(text, tokens):
        value = evaluate(text[start + 1 : end - 1].strip())
        name = f"_cell_{uuid4().hex}"
        if hasattr(value, "createOrReplaceTempView"):
            value.createOrReplaceTempView(name)
            views.append(name)
        else:
            values[name] = value
        parts += [text[behind:start], name if name in views else f":{name}"]
        behind = end
    try:
        yield "".join([*parts, text[behind:]]), values
    finally:
        for view in views:
            session.catalog.dropTempView(view)


def _braces(text: str, tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Yield the offsets of the first character and of the end of each outermost pair of braces, except Spark's
    variables (`${x}`).
    """
    depth, opened = 0, 0
    for index in tokens.indexes("{", "}"):
        if tokens.symbols[index] == "{":
            opened = index if depth == 0 else opened
            depth += 1
        elif depth:
            depth -= 1
            start = tokens.start(opened)
            if depth == 0 and text[start - 1 : start] != "$":
                yield start, tokens.end(index)
