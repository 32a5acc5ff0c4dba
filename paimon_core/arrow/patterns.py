"""Regular expressions for users of a server. The time of matching grows only with the length of the text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError

# This matches everything before a `\Q` without its `\E`.
_NO_QUOTE = re.compile(r"\A(?:\\Q.*?\\E|\\(?!Q).|[^\\])*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression in RE2's syntax, without backreferences and look-around assertions.

    Python's own expressions may take for ever, and block the whole process meanwhile."""

    text: str

    @staticmethod
    def of(argument: str, text: str) -> Pattern:
        """Return the pattern of a text.

        Raises `InvalidOptionError` if the text is not a valid regular expression, both alone and inside of another
        expression.
        """
        pattern = Pattern(text)
        try:
            pattern.finds([""])
            pattern.matches([""])
        except (pa.ArrowInvalid, UnicodeEncodeError) as e:
            raise InvalidOptionError(
                f"{argument} cannot be {text!r}: it is not a regular expression ({str(e).partition(chr(10))[0]}). "
                "Backreferences and (?=…), (?!…), (?<…) are not supported."
            ) from e
        return pattern

    def matches(self, texts: Sequence[str]) -> list[bool]:
        """Return which texts match as a whole."""
        return self._found(texts, f"\\A(?:{_closed(self.text)})\\z")

    def finds(self, texts: Sequence[str]) -> list[bool]:
        """Return which texts have a part that matches."""
        return self._found(texts, self.text)

    @staticmethod
    def _found(texts: Sequence[str], expression: str) -> list[bool]:
        found: list[bool] = pc.match_substring_regex(pa.array(texts, pa.string()), expression).to_pylist()
        return found


def _closed(text: str) -> str:
    """Return the expression with an `\\E` for its last `\\Q`: without it, all text after `\\Q` is literal."""
    rest = _NO_QUOTE.sub("", text)
    return f"{text}\\E" if rest.startswith("\\Q") else text
