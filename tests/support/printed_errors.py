"""The texts that Spark adds around an error's message: classes, frames, the plan, the statement."""

from __future__ import annotations

import re

_ECHO = re.compile(
    r"\n?== SQL.*|; line \d+ pos \d+;?\n.*|\nJVM stacktrace:.*|\[INTERNAL_ERROR\].*?SQLSTATE: XX000"
    r"|\b(?:\w+\.)+[\w$]+(?:Exception|Error)\b:?|(?<=\n)\s+at [^\n]*",
    re.DOTALL,
)


def without_echo(text: str) -> str:
    """Return the message alone."""
    return _ECHO.sub("", text).strip()
