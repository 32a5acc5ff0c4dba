"""What a rule is: one spelling, the statements that may have it, and what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from paimon_sql.preprocess.cursor import Cursor

T_co = TypeVar("T_co", covariant=True)

_HEAD = re.compile(
    r"(?>(?:\s+|--[^\n]*|/\*(?!\+).*?\*/)*)"
    r"(?:explain\s+(?:(?:logical|formatted|extended|codegen|cost)\s+)?)?(\w*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Rule(Generic[T_co]):
    """`read` gets a cursor at the first token behind EXPLAIN. As making tokens takes a while, the other fields say
    which statements, in lower case, may have the spelling:

    first: what the statement begins with, behind comments and EXPLAIN; none for any
    words: at least one of them is in it
    pattern: it is found in it; asked last, as it takes longest
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
    """The first word of a statement in lower case; empty where it begins with something else."""
    found = _HEAD.match(lower)
    return found[1] if found else ""
