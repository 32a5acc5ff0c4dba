"""The only error that the preprocessor raises; Spark reports all others."""

from __future__ import annotations

from paimon_core.errors import PaimonError
from paimon_sql.preprocess.lexing import Token


class PreprocessError(PaimonError, ValueError):
    """A statement in Flink style that contradicts itself. Line and column count from 1."""

    def __init__(self, message: str, line: int, column: int):
        super().__init__(f"{message} (line {line}, column {column})")
        self.message, self.line, self.column = message, line, column

    @classmethod
    def at(cls, token: Token, message: str) -> PreprocessError:
        """Return the error at the first character of a token."""
        before = token.source[: token.start]
        return cls(message, before.count("\n") + 1, token.start - before.rfind("\n"))

    def moved(self, text: str, start: int) -> PreprocessError:
        """Return an error about a part of a text as an error about the whole text. The part starts at the offset
        `start`.
        """
        before = text[:start]
        column = self.column + (start - before.rfind("\n") - 1 if self.line == 1 else 0)
        return PreprocessError(self.message, self.line + before.count("\n"), column)
