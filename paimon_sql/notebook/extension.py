"""The extension that `%load_ext paimon_sql` loads."""

from __future__ import annotations

import logging
import re
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher

from paimon_core.errors import InvalidOptionError
from paimon_sql.notebook.magics import SqlMagics, html_of_frame
from paimon_sql.session import active_session
from paimon_sql.shell.completion import Words, fragment

_CELL = re.compile(r"\s*%%?(?:sql|paimon)\b")


def load(ipython: Any) -> None:
    """Add the magics to IPython, complete words in their cells, and show DataFrames of system tables as tables."""
    logging.getLogger("SQLQueryContextLogger").setLevel(
        logging.CRITICAL
    )  # cells show the errors of refused statements themselves
    ipython.register_magics(SqlMagics(ipython, _session))

    @context_matcher()  # type: ignore[untyped-decorator]
    def words_of_sql(context: CompletionContext) -> dict[str, Any]:
        if not _CELL.match(context.full_text):
            return {"completions": []}
        before = "\n".join([*context.full_text.split("\n")[: context.cursor_line], context.text_until_cursor])
        found = Words(_session()).after(_CELL.sub("", before, count=1))
        completions = [SimpleCompletion(text=word, type="sql") for word in found]
        return {"completions": completions, "suppress": True, "matched_fragment": fragment(before)}

    ipython.Completer.custom_matchers.append(words_of_sql)
    shown_as_html = ipython.display_formatter.formatters["text/html"]
    shown_as_html.for_type_by_name("pyspark.sql.classic.dataframe", "DataFrame", html_of_frame)


def _session() -> Any:
    session = active_session()
    if session is None:
        raise InvalidOptionError("There is no Spark session: make one with paimon_sql.connect(warehouse=…).")
    return session
