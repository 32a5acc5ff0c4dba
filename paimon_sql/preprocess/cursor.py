"""A cursor to read the tokens of one statement."""

from __future__ import annotations

from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.lexing import NO_NAMES, NUMBER, QUOTED_NAME, STRING, Token, Tokens
from paimon_sql.preprocess.syntax import NEWEST, Syntax

_EXPLAIN_MODES = ("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST")
NAMED_LATER = ("IDENTIFIER(…)",)  # stands for a name that an expression returns when the statement runs
LIST_ENDS = (",", ")", ";", "")  # symbols after an item of a list


class Cursor:
    """A reading position in the tokens of one statement, past a leading EXPLAIN."""

    def __init__(self, tokens: Tokens, index: int = 0, syntax: Syntax = NEWEST):
        self.tokens, self.index, self.syntax = tokens, index, syntax
        self._symbols = tokens.symbols
        self.named_by = ""  # the expression of the IDENTIFIER(…) that `take_table` has read
        if index == 0 and self.take("EXPLAIN") and self.symbol() in _EXPLAIN_MODES:
            self.index += 1

    def peek(self, ahead: int = 0) -> Token | None:
        index = self.index + ahead
        return self.tokens[index] if index < len(self._symbols) else None

    def symbol(self, ahead: int = 0) -> str:
        """Return the word in upper case, or the sign. Literals and quoted names have a mark instead; the text is empty
        past the end.
        """
        try:
            return self._symbols[self.index + ahead]
        except IndexError:
            return ""

    def at_name(self, ahead: int = 0) -> bool:
        return self.symbol(ahead) not in NO_NAMES

    def at_string(self, ahead: int = 0) -> bool:
        return self.symbol(ahead) == STRING

    def at_word(self) -> bool:
        """Return whether a name without backquotes follows."""
        return self.symbol() not in NO_NAMES and self.symbol() != QUOTED_NAME

    def at_number(self) -> bool:
        return self.symbol() == NUMBER

    def names(self, first: int) -> list[str]:
        """Return the names among the tokens from `first` up to the cursor."""
        return [self.tokens.text(index) for index in range(first, self.index) if self.tokens.is_name(index)]

    def replaced(self, first: int, text: str) -> Edit:
        """Return the edit that replaces the tokens from `first` up to the cursor."""
        return Edit.at(self.tokens, first, text, self.index - first)

    @property
    def last(self) -> Token:
        """The token just read."""
        return self.tokens[self.index - 1]

    def at_end(self) -> bool:
        """Return whether the statement ends here, with or without a `;`."""
        return self.symbol() in ("", ";")

    def at_last(self) -> bool:
        """Return whether the statement ends here and no other statement follows."""
        return all(symbol == ";" for symbol in self._symbols[self.index :])

    def next(self) -> Token:
        self.index += 1
        return self.tokens[self.index - 1]

    def next_text(self) -> str:
        self.index += 1
        return self.tokens.text(self.index - 1)

    def take(self, *symbols: str) -> bool:
        """Read these symbols, all of them or none. Return whether they were read."""
        if self.symbol() != symbols[0]:
            return False
        count = len(symbols)
        if count > 1 and tuple(self._symbols[self.index : self.index + count]) != symbols:
            return False
        self.index += count
        return True

    def take_any(self, *symbols: str) -> bool:
        """Read one of these symbols. Return whether one was read."""
        return any(self.take(candidate) for candidate in symbols)

    def take_name(self) -> bool:
        """Read a name of one or more parts, or an IDENTIFIER(...) clause. Return whether it was read."""
        if self.symbol() == "IDENTIFIER" and self.symbol(1) == "(":
            self.index += 1
            self.skip_parentheses()
            return True
        if not self.at_name():
            return False
        self.index += 1
        while self.symbol() == "." and self.at_name(1):
            self.index += 2
        return True

    def take_parts(self) -> tuple[str, ...]:
        """Read a name and return its parts; none if something else follows, or an IDENTIFIER(...) clause."""
        first = self.index
        if self.symbol() == "IDENTIFIER" and self.symbol(1) == "(":
            return ()
        return tuple(self.names(first)) if self.take_name() else ()

    def take_table(self) -> tuple[str, ...]:
        """Read the name of the statement's table, as `take_parts` does. Return `NAMED_LATER` for
        `IDENTIFIER(expression)`.
        """
        first = self.index + 2
        if (self.symbol(), self.symbol(1)) != ("IDENTIFIER", "(") or self.symbol(2) in LIST_ENDS:
            return self.take_parts()
        self.take_name()
        token = self.tokens[first]
        self.named_by = token.source[token.start : self.last.start]
        return NAMED_LATER

    def take_number(self) -> int | None:
        """Read a whole number."""
        is_whole = self.at_number() and self.tokens.text(self.index).isdigit()
        return int(self.next_text()) if is_whole else None

    def take_text(self) -> str | None:
        """Read a string. A doubled quote in a string divides it into two tokens side by side, which are joined."""
        if not self.at_string():
            return None
        text = self.next_text()
        while self.at_string() and self.tokens.start(self.index) == self.tokens.end(self.index - 1):
            text += f"'{self.next_text()}"
        return text

    def skip_parentheses(self) -> None:
        """Skip from an opening parenthesis past the closing one, or to the end if it is missing."""
        self.index = self.tokens.closings.get(self.index, len(self._symbols) - 1) + 1

    def skip(self) -> None:
        """Skip one token, or one group in parentheses."""
        if self.symbol() == "(":
            self.skip_parentheses()
        else:
            self.index += 1
