"""Long statements of clients of a server: the time of each check grows with the text's length, and not with its square.

While a pattern of Python is searched, no other thread of the driver runs: no door, no health, no SIGTERM.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from paimon_core.secrets import statement_without_secrets
from paimon_sql.preprocess import PreprocessError, nowhere_else, preprocess
from paimon_sql.preprocess.lexing import without_dollar_strings
from paimon_sql.preprocess.quoting import with_path_catalog, with_quoted_system_tables
from paimon_sql.preprocess.rules import EDITS, VALUES
from paimon_sql.preprocess.rules.python_functions import python_function
from paimon_sql.preprocess.rules.rule import first_word, without_comments
from paimon_sql.preprocess.syntax import NEWEST
from paimon_sql.spark.gaps import GAPS
from paimon_sql.spark.statements.catalog_registry import configured_catalogs
from paimon_sql.spark.statements.function_statements import may_call_for_rows
from paimon_sql.spark.statements.parser import may_be_view

_LENGTH, _SECONDS = 60_000, 3  # of the CPU: a search takes milliseconds, or if it is not linear 5 s to minutes
_UNITS = (
    *(
        "view ",
        "table ",
        "from",
        "?from",
        "from ",
        "from.",
        ", ",
        "x",
        "x$",
        "$",
        "::",
        "a:",
        "?a",
        "'",
        '"',
        '\\"',
        "\\'",
    ),
    *(
        "`",
        "-",
        "--",
        "/*",
        "/* ",
        "*/",
        "r'",
        "$$",
        "as $$",
        "$a$ ",
        "(",
        "[",
        " ",
        "\n",
        "--\\\n",
        "spark.sql.catalog.x",
    ),
    *("language python as ", "array[", "identifier(", "update ", "tag ", "paimon.`", "using ", "changes "),
)
_BEGINNINGS = {
    "log": "secret://",
    "functions in Python": "CREATE FUNCTION f() LANGUAGE PYTHON AS ",
    "dollar strings": "$$ ",
    "new tables": "create table x.y (a int primary key not enforced) ",
}


def _python_function(text: str) -> None:
    with suppress(PreprocessError):
        python_function(text)


_CHECKS: dict[str, Callable[[str], object]] = {
    "comments": without_comments,
    "first word": first_word,
    "rules": lambda text: [rule.pattern.search(text) for rule in (*EDITS, *VALUES) if rule.pattern],
    "dollar strings": without_dollar_strings,
    "functions in Python": _python_function,
    "system tables": with_quoted_system_tables,
    "paths": with_path_catalog,
    "log": statement_without_secrets,
    "views": may_be_view,
    "functions": may_call_for_rows,
    "new tables": lambda text: preprocess(text, NEWEST, nowhere_else, bool),
    "settings": configured_catalogs,
    "gaps": lambda text: [gap.statement.match(text) for gap in GAPS if gap.statement],
}


@contextmanager
def _limited(seconds: int, text: str) -> Iterator[None]:
    """Raise an error about a text if a block uses the CPU for longer."""

    def raise_error(number: int, frame: object) -> None:
        raise TimeoutError(f"{text}: more than {seconds} s of the CPU")

    before = signal.signal(signal.SIGVTALRM, raise_error)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("check", _CHECKS)
def test_time_of_long_statements(check: str) -> None:
    for unit in _UNITS:
        with _limited(_SECONDS, repr(unit)):
            _CHECKS[check](_BEGINNINGS.get(check, "") + unit * (_LENGTH // len(unit)))
