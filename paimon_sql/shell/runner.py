"""The shell: it runs statements on a session and prints their results."""

from __future__ import annotations

import codecs
import re
import shutil
import time
import traceback
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import Any, TextIO

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError
from paimon_core.escapes import visible
from paimon_core.time_zones import time_zone
from paimon_sql.pictures.picture import NARROWEST
from paimon_sql.preprocess import ScriptStatement, split_statements
from paimon_sql.preprocess.quoting import quoted_text
from paimon_sql.preprocess.scripts import statement_kind
from paimon_sql.shell.errors import describe, line_in_statement
from paimon_sql.shell.interrupts import cancelling
from paimon_sql.shell.pager import Pager, fits
from paimon_sql.shell.render import FORMATS, Result
from paimon_sql.shell.statement_progress import StageWatch, drawn_on, watching

_SOURCE = re.compile(r"source\s+(?P<path>'[^']+'|\"[^\"]+\"|\S+)", re.IGNORECASE)
LEAVE = re.compile(r"quit|exit", re.IGNORECASE)  # among the statements of a script, as in spark-sql
_SOURCE_DEPTH = 20
BYTE_ORDER_MARK = "\ufeff"  # some editors of Windows put it at the beginning of a text
_MARKS = {  # UTF-32 comes before UTF-16, because its mark begins with the mark of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
FOR_PEOPLE = ("table", "vertical", "markdown")  # formats that are printed with statements, counts and times


@dataclass(frozen=True, kw_only=True)
class Options:
    output: str = "table"
    max_rows: int = 1000  # printed per statement; 0 for all
    echo: bool = True  # print the comments and statements of scripts
    verbose: bool = False  # print the statements of the command line, too
    debug: bool = False  # print whole stack traces
    pages: bool = True  # at a prompt, show large results by a pager

    @property
    def is_for_people(self) -> bool:
        return self.output in FOR_PEOPLE


class Shell:
    """Runs texts of statements, and prints their results. It uses the session's `sql(text)`, and `conf` for the time
    zone of instants.
    """

    def __init__(self, session: Any, out: TextIO, err: TextIO, options: Options):
        self.session, self.out, self.err, self.options = session, out, err, options
        self.is_left = False  # set by `quit` or `exit` in a script
        self.pager: Pager | None = None  # of a prompt
        self._sources: list[str] = []  # the scripts that SOURCE is running, the innermost last

    def run_script(self, text: str, name: str = "") -> int:
        """Run the statements up to the first that fails, or to `quit` or `exit`. Return the exit status.

        If the script has a name, print comments, statements and results one after the other, and its line with each
        error.
        """
        for statement in split_statements(text):
            if LEAVE.fullmatch(statement.text):
                self.is_left = True
            elif not self.run(statement, name):
                return 1
            if self.is_left:
                break
        return 0

    def run(self, statement: ScriptStatement, name: str = "") -> bool:
        """Run one statement, print its result or its error, and return whether it succeeded.

        Raises KeyboardInterrupt if the user cancelled it.
        """
        if (script := _SOURCE.fullmatch(statement.text)) is not None:
            return self._run_file(script["path"].strip("'\""), f"{name}:{statement.line}" if name else "")
        if (self.options.verbose or name and self.options.echo) and self.options.is_for_people:
            comment = statement.comment + "\n" if statement.comment else ""
            self._print(f"{comment}{statement.text};\n")
        started = time.perf_counter()
        try:
            with cancelling(lambda: self.session.sparkContext.cancelAllJobs()) as cancelled:
                self._execute(statement.text, started)
        except Exception as error:
            if cancelled.is_set():
                raise KeyboardInterrupt from error
            self.report(error, f"{name}:{statement.line + line_in_statement(error) - 1}: " if name else "")
            return False
        if cancelled.is_set():
            raise KeyboardInterrupt
        return True

    def toggle_vertical(self) -> None:
        """Print rows as lines of their columns instead of as a table, or as a table again."""
        output = "table" if self.options.output == "vertical" else "vertical"
        self.options = replace(self.options, output=output)
        self._print(f"Rows are printed as {'a table' if output == 'table' else 'lines of their columns'}.\n")

    def toggle_pager(self) -> None:
        """Switch between the pager for results that do not fit the screen, and printing them whole."""
        self.options = replace(self.options, pages=not self.options.pages)
        self._print(f"Results that do not fit the screen are {'' if self.options.pages else 'not '}paged.\n")

    def draw(self, kind: str, table: str | None, after: str | None = None) -> None:
        """Print a picture of a table, as wide as the terminal. `after`: with the effect of an operation."""
        if table is None:
            self.err.write(f"\\{kind} needs a table: \\{kind} db.t\n")
            return
        width = max(shutil.get_terminal_size().columns, NARROWEST)
        given = f"table => {quoted_text(table)}, kind => '{kind.lower()}', width => {width}"
        given += "" if after is None else f", after => {quoted_text(after)}"
        statement = f"CALL sys.picture({given})"
        try:
            with cancelling(lambda: self.session.sparkContext.cancelAllJobs()):
                rows = self.session.sql(statement).collect()
        except Exception as error:
            self.report(error)
            return
        self._show("".join(f"{row['picture']}\n" for row in rows))

    def _progress(self, text: str) -> AbstractContextManager[object]:
        """Draw the progress of a statement on a terminal."""
        if not self.err.isatty():
            return nullcontext()
        watch = StageWatch(self.session.sparkContext.statusTracker(), statement_kind(text))
        return watching(watch, drawn_on(self.err, shutil.get_terminal_size().columns))

    def _run_file(self, path: str, where: str) -> bool:
        """Run the statements of another script for `SOURCE path`, as in spark-sql. Return whether all succeeded."""
        try:
            if len(self._sources) == _SOURCE_DEPTH:
                raise InvalidDataError(
                    f"SOURCE {path} cannot be run: scripts are nested more than {_SOURCE_DEPTH} levels deep. "
                    "Check whether they run each other in a circle."
                )
            text = read_script(path)
        except (OSError, InvalidDataError) as error:
            self.report(error, f"{where}: " if where else "")
            return False
        self._sources.append(path)
        try:
            return self.run_script(text, path) == 0
        finally:
            self._sources.pop()

    def report(self, error: BaseException, where: str = "") -> None:
        """Print an error as one message after its location (`where`), or with its stack trace (`debug`)."""
        self.out.flush()
        if self.options.debug:
            self.err.write(visible("".join(traceback.format_exception(error))))
        self.err.write(visible(f"error: {where}{describe(error)}\n"))
        self.err.flush()

    def _execute(self, text: str, started: float) -> None:
        with self._progress(text):
            frame = self.session.sql(text)
            limit = self.options.max_rows
            rows = [] if not frame.columns else frame.limit(limit + 1).collect() if limit else frame.collect()
        if not frame.columns:
            if self.options.is_for_people:
                self._print(f"OK ({_seconds(started)})\n\n")
            return
        shown = rows[:limit] if limit else rows
        kinds = [field.dataType for field in frame.schema.fields]
        result = Result(columns=frame.columns, kinds=kinds, rows=shown, zone=self._zone())
        more = len(rows) > len(shown)
        footer = f"{_footer(len(shown), more, started)}\n\n" if self.options.is_for_people else ""
        self._show(FORMATS[self.options.output](result) + footer)
        if more and not footer:
            self.err.write(f"only the first {limit} rows; --max-rows 0 prints all\n")

    def _zone(self) -> tzinfo | None:
        conf = getattr(self.session, "conf", None)
        return time_zone(conf.get("spark.sql.session.timeZone")) if conf is not None else None

    def _show(self, text: str) -> None:
        """Print the result of a statement. Use the pager if the statement was typed and its result does not fit the
        screen.
        """
        if self.pager is None or not self.options.pages or self._sources or fits(text, *shutil.get_terminal_size()):
            self._print(text)
        elif not self.pager.show(visible(text)):
            self._print(text)
            self.err.write(f"The pager cannot be run: {self.pager.command}. Set PAGER, or switch it off by \\pager.\n")

    def _print(self, text: str) -> None:
        self.out.write(visible(text) if self.out.isatty() else text)
        self.out.flush()


def read_script(path: str) -> str:
    """Return the text of a script. Raises OSError, and as `script_text`."""
    return script_text(Path(path).read_bytes(), path)


def script_text(content: bytes, name: str) -> str:
    """Return the text of a script's bytes. Its encoding is UTF-8 unless a byte order mark shows another. Raises
    `InvalidDataError`.
    """
    encoding = next((encoding for mark, encoding in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidDataError(
            f"{name} is not a text in {encoding.upper()}: byte {error.start} does not fit. Save it as UTF-8."
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n").removeprefix(BYTE_ORDER_MARK)


def _footer(count: int, more: bool, started: float) -> str:
    if more:
        return f"(first {count} rows, {_seconds(started)}; there are more, --max-rows 0 prints all)"
    return f"({count} row{'' if count == 1 else 's'}, {_seconds(started)})"


def _seconds(started: float) -> str:
    return f"{time.perf_counter() - started:.2f} s"
