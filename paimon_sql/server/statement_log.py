"""The log of the clients' statements: one line per ended statement, with user, time, rows, state and text."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from paimon_core.escapes import visible
from paimon_core.metrics import PROCESS, STATEMENTS, Metrics
from paimon_core.secrets import statement_without_secrets
from paimon_sql.preprocess.scripts import statement_kind
from paimon_sql.spark.jvm.servers import EndedStatement

_LONGEST = 1000  # characters of a statement
_KINDS = frozenset(
    (
        *(
            "add",
            "alter",
            "analyze",
            "begin",
            "cache",
            "call",
            "clear",
            "comment",
            "copy",
            "create",
            "declare",
            "delete",
        ),
        *(
            "describe",
            "drop",
            "execute",
            "explain",
            "from",
            "insert",
            "list",
            "load",
            "merge",
            "msck",
            "refresh",
            "repair",
        ),
        *("replace", "reset", "select", "set", "show", "table", "truncate", "uncache", "update", "upsert", "use"),
        *("values", "with"),
    )
)
_SHORT = {"desc": "describe"}

Rows = Callable[[EndedStatement], int | None]


class StatementLog:
    """A log with one line per statement. It is made from lists of ended statements, which overlap. `metrics` counts the
    statements.
    """

    def __init__(self, metrics: Metrics = PROCESS) -> None:
        self._metrics = metrics
        self._written: frozenset[tuple[str, str]] = frozenset()

    def new_lines(self, ended: Iterable[EndedStatement], rows: Rows) -> list[str]:
        """Return the lines of the statements that were not in the last list. `rows` returns the number of rows of a
        statement, None if they were not counted.
        """
        found = {(one.server, one.id): one for one in ended}
        new = [one for key, one in found.items() if key not in self._written]
        for one in new:
            self._metrics.add(STATEMENTS, server=one.server, kind=_kind(one.statement), state=one.state.lower())
        lines = [_line(one, rows(one)) for one in new]
        self._written = frozenset(found)
        return lines


def _kind(text: str) -> str:
    """Return the first word of a statement if it is one of SQL's, else "other": labels of metrics show nothing else."""
    word = statement_kind(text).lower()
    word = _SHORT.get(word, word)
    return word if word in _KINDS else "other"


def _line(one: EndedStatement, rows: int | None) -> str:
    text = " ".join(statement_without_secrets(one.statement).split())
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    # the client chooses its name and its statements: neither may begin a line of the log, or send escapes to a terminal
    counted = "" if rows is None else f" rows={rows}"
    text = f"{one.server} user={one.user} seconds={one.milliseconds / 1000:.3f}{counted} {one.state.lower()}: {shown}"
    return visible(text, kept="")
