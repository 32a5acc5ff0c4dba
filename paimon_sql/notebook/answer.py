"""The output of a cell: rows as a table, in HTML and as text, and errors."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from html import escape
from typing import Any

from IPython.display import HTML, display

from paimon_core.dataclass import dataclass
from paimon_core.escapes import visible
from paimon_sql.preprocess.scripts import statement_kind
from paimon_sql.shell.render import Result, table
from paimon_sql.shell.statement_progress import StageWatch, StatementState, watching
from paimon_sql.values import is_number

MAX_COLUMNS = 60
MAX_CELL = 200  # characters of a value


@dataclass(frozen=True)
class CellDone:
    """The answer of a statement without rows."""

    seconds: float

    def __repr__(self) -> str:
        return f"OK ({self.seconds:.2f} s)"


@dataclass(frozen=True)
class CellAnswer:
    """The first rows of a statement's result. `frame` is the DataFrame of all rows, `hint` says how to get more."""

    frame: Any
    result: Result
    has_more: bool
    seconds: float
    hint: str = "--limit N shows N rows; 'name <<' stores all of them as the DataFrame `name`"

    def __repr__(self) -> str:
        return f"{table(self._shown())}({self._footer()})"

    def _repr_html_(self) -> str:
        shown = self._shown()
        rights = [is_number(kind) for kind in shown.kinds]
        head = "".join(
            f'<th style="text-align:{_side(right)}">{_html(name)}<br>'
            f'<span style="font-weight:normal;opacity:0.6">{_html(_type(kind))}</span></th>'
            for name, kind, right in zip(shown.columns, shown.kinds, rights, strict=True)
        )
        rows = (
            "<tr>" + "".join(map(_cell, values, texts, rights)) + "</tr>"
            for values, texts in zip(shown.rows, shown.texts(), strict=True)
        )
        body = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        return f'{body}<p style="opacity:0.6">{escape(self._footer())}</p>'

    def _shown(self) -> Result:
        result = self.result
        if len(result.columns) <= MAX_COLUMNS:
            return result
        rows = [tuple(row)[:MAX_COLUMNS] for row in result.rows]
        return replace(result, columns=result.columns[:MAX_COLUMNS], kinds=result.kinds[:MAX_COLUMNS], rows=rows)

    def _footer(self) -> str:
        count, columns = len(self.result.rows), len(self.result.columns)
        said = [f"{count} row{'' if count == 1 else 's'}, {self.seconds:.2f} s"]
        if self.has_more:
            said = [f"the first {said[0]}; there are more: {self.hint}"]
        if columns > MAX_COLUMNS:
            said.append(f"the first {MAX_COLUMNS} of {columns} columns")
        return "; ".join(said)


class SqlError(Exception):
    """A statement that failed. IPython shows its message, and the line of the cell on which it failed."""

    def __init__(self, message: str, line: int, text: str) -> None:
        super().__init__(message)
        self.line, self.text = line, text

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython prints instead of a traceback."""
        return [f"SQL error in line {self.line} of the cell:", f"    {visible(self.text.strip())}", visible(str(self))]


class Cancelled(KeyboardInterrupt):
    """A cell that the user interrupted. IPython shows one line instead of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return ["Cancelled: the jobs of the cell were stopped, and the session goes on."]


def _cell(value: Any, text: str, right: bool) -> str:
    cut = text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}…"
    faded = ";opacity:0.5" if value is None else ""
    return f'<td style="text-align:{_side(right)}{faded}">{_html(cut)}</td>'


def _html(text: str) -> str:
    """Return a text escaped for HTML. `$` is escaped, too: a notebook would read it as the beginning of a formula."""
    return escape(visible(text)).replace("$", "&#36;")


def _side(right: bool) -> str:
    return "right" if right else "left"


def _type(kind: Any) -> str:
    return str(kind.simpleString()) if hasattr(kind, "simpleString") else ""


def progress_of(context: Any, text: str) -> AbstractContextManager[object]:
    """Show during the block the progress of a statement, and remove that at the end."""
    return watching(StageWatch(context.statusTracker(), statement_kind(text)), _Display().show)


class _Display:
    """An output of a cell that changes."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, state: StatementState | None) -> bool:
        """Show a state, or nothing; return False if there is no notebook."""
        shown = HTML("") if state is None else HTML(_bar(state))
        if self._handle is None and state is not None:
            self._handle = display(shown, display_id=True)
        elif self._handle is not None:
            self._handle.update(shown)
        return self._handle is not None


def _bar(state: StatementState) -> str:
    value = f' max="{state.tasks}" value="{state.done}"' if state.tasks else ""  # without them, the end is unknown
    bar = f'<progress{value} aria-label="progress"></progress>'
    return f"{bar} <span>{_html(state.line())}</span>"
