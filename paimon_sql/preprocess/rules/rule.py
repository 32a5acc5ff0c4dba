"""Rules: one spelling, the statements that may have it, and their rewriting."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Generic, TypeVar

from paimon_core.dataclass import dataclass
from paimon_sql.preprocess.cursor import Cursor

T_co = TypeVar("T_co", covariant=True)

# a comment; or a string or a name in quotes, which is kept. One that is not closed ends with the text: no part of a
# text is searched again and again
_COMMENT = re.compile(
    r"""(?=['"`r/-])(?:(\br(?:'[^']*+(?:'|\Z)|"[^"]*+(?:"|\Z))|'(?>(?:[^'\\]++|\\.)*)(?:'|\\?\Z)"""
    r"""|"(?>(?:[^"\\]++|\\.)*)(?:"|\\?\Z)|`[^`]*+(?:`|\Z))|--[^\r\n]*+|/\*(?!\+).*?(?:\*/|\Z))""",
    re.DOTALL,
)
_HEAD = re.compile(
    r"(?>(?:\s+|--[^\n]*|/\*(?!\+).*?\*/)*)"
    r"(?:explain\s+(?:(?:logical|formatted|extended|codegen|cost)\s+)?)?"
    r"(?:create\s+(?:or\s+replace\s+)?(?:global\s+)?(?:temp(?:orary)?\s+)?(view\b)|(\w*))",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Rule(Generic[T_co]):
    """A rule: `read` gets a cursor at the first token after EXPLAIN.

    Making tokens is slow. So the other fields first select the statements that may have the spelling, by their text in
    lower case and without comments:

    first: the statement's first word, after comments and EXPLAIN, see `first_word`; empty for any word

    words: the statement contains at least one of them

    pattern: the statement contains a match; checked last, because it takes longest
    """

    read: Callable[[Cursor], T_co]
    first: tuple[str, ...] = ()
    words: tuple[str, ...] = ("",)
    pattern: re.Pattern[str] | None = None

    def may_apply(self, first: str, lower: str) -> bool:
        """Whether a statement may have the spelling, by its first word and its text in lower case."""
        if self.first and first not in self.first:
            return False
        return any(word in lower for word in self.words) and not (self.pattern and not self.pattern.search(lower))


def first_word(lower: str) -> str:
    """Return the first word of a statement in lower case, `view` for CREATE VIEW; "" without a word."""
    found = _HEAD.match(lower)
    return found[1] or found[2] if found else ""


def without_comments(text: str) -> str:
    """Return the text with a blank in place of each comment, so that patterns need not expect comments
    between words.
    """
    return _COMMENT.sub(lambda m: m[1] or " ", text) if "--" in text or "/*" in text else text
