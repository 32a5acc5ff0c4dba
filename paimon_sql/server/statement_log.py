"""One line of the log per statement of a client that has ended: who, how long, how many rows, its end and its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from paimon_core.escapes import visible
from paimon_core.secrets import statement_without_secrets
from paimon_sql.spark.jvm.servers import EndedStatement

_LONGEST = 1000  # characters of a statement

Rows = Callable[[EndedStatement], int | None]


class StatementLog:
    """Tells each statement once, of lists that overlap."""

    def __init__(self) -> None:
        self._told: frozenset[tuple[str, str]] = frozenset()

    def new_lines(self, ended: Iterable[EndedStatement], rows: Rows) -> list[str]:
        """The lines of those that the last list did not have. `rows` tells how many rows one gave, None for one whose
        rows nobody counted."""
        found = {(one.server, one.id): one for one in ended}
        lines = [_line(one, rows(one)) for key, one in found.items() if key not in self._told]
        self._told = frozenset(found)
        return lines


def _line(one: EndedStatement, rows: int | None) -> str:
    text = statement_without_secrets(" ".join(one.statement.split()))
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    # a client says who it is, and what it runs: neither is to begin a line of its own, or to act on a terminal
    counted = "" if rows is None else f" rows={rows}"
    text = f"{one.server} user={one.user} seconds={one.milliseconds / 1000:.3f}{counted} {one.state.lower()}: {shown}"
    return visible(text, kept="")
