"""Exceptions as one message for people."""

from __future__ import annotations

import re

_TRACEBACK = "Traceback (most recent call last):"
# the parts after the message: the JVM's stack, the echo of the statement, the plan
_TAIL = re.compile(r"\n\s*JVM stacktrace:|\nDriver stacktrace:|\n\s+at [\w.$/]+\(|\n\s*== SQL|;\n|\n\s*== DataFrame")
_HEAD = re.compile(
    r"\A(?:An error occurred while calling \S+\s*"
    r"|:\s+"
    r"|Job aborted due to stage failure:.*?\(TID \d+\)(?: \([^)]*\))?:\s*"
    r"|(?:[a-z]\w*\.)+[\w$]*(?:Exception|Error):\s*)",
    re.S,
)
_PYTHON_ERROR = re.compile(r"^(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*): (.*)", re.S)
_POSITION = re.compile(r"\(?\bline (\d+),? pos(?:ition)? \d+\)?")
_PAIMON_MODULE = "paimon_core.errors."


def describe(error: BaseException) -> str:
    """Return an error's message without stack traces, class names of the JVM, the echo of the statement and
    its plan.
    """
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"Cannot open {error.filename}: {error.strerror}."
    message = str(error).strip()
    if _TRACEBACK in message:
        message = _python_cause(message)
    else:
        message = _TAIL.split(message, maxsplit=1)[0]
        while head := _HEAD.match(message):
            message = message[head.end() :]
    message = re.sub(r"; line \d+ pos \d+$", "", message.strip())
    return message or type(error).__name__


def line_in_statement(error: BaseException) -> int:
    """Return the line of the statement in Spark's message, from 1; 1 if it has none."""
    found = _POSITION.search(str(error))
    return max(int(found[1]), 1) if found else 1


def _python_cause(message: str) -> str:
    """Return the last line of the last traceback in the text, with the lines that belong to it."""
    lines = message.rpartition(_TRACEBACK)[2].strip("\n").split("\n")
    while lines and (not lines[0].strip() or lines[0][0].isspace()):
        lines.pop(0)
    cause = []
    for line in lines:
        if not line.strip() or re.match(r"\s+at [\w.$/]+\(", line):
            break
        cause.append(line)
    text = "\n".join(cause)
    found = _PYTHON_ERROR.match(text)
    if found is None:
        return text
    return found[2] if text.startswith(_PAIMON_MODULE) else f"{found[1]}: {found[2]}"
