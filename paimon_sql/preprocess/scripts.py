"""The statements of a script."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from paimon_sql.preprocess.lexing import scan


@dataclass(frozen=True, slots=True)
class ScriptStatement:
    """One statement without its `;`, the line of the script it starts on (from 1), the comment lines above it."""

    text: str
    line: int
    comment: str = ""


def split_statements(text: str) -> list[ScriptStatement]:
    """The statements of a script in order; where a quote is never closed, the rest of the script is one statement."""
    statements, behind = [], 0
    for start, end in _bounds(text):
        line = text.count("\n", 0, start) + 1
        statements.append(
            ScriptStatement(text[start:end], line, _comment_lines(text[behind:start], at_top=behind == 0))
        )
        behind = end
    return statements


def is_terminated(text: str) -> bool:
    """Whether the last statement of the text ends with `;`, so that nothing more is to come."""
    tokens, is_whole = scan(text)
    return is_whole and tokens.symbols[-1:] == [";"]


def _bounds(text: str) -> Iterator[tuple[int, int]]:
    """First character and end of each statement."""
    tokens, is_whole = scan(text)
    first = 0
    for end in tokens.indexes(";"):
        if first < end:
            yield tokens[first].start, tokens[end - 1].end + 1
        first = end + 1
    if is_whole and first < len(tokens):
        yield tokens[first].start, tokens[-1].end + 1
    elif not is_whole:  # what follows the last token is text too: it holds the quote that is never closed
        behind = tokens[first].start if first < len(tokens) else tokens[-1].end + 1 if tokens else 0
        yield len(text) - len(text[behind:].lstrip()), len(text.rstrip())


def _comment_lines(gap: str, at_top: bool) -> str:
    """The comment lines between two statements, without the rest of the line the first one ends on."""
    first = 0 if at_top else gap.find("\n") + 1
    return gap[first : gap.rfind("\n") + 1].lstrip(";").strip("\r\n")
