"""Long stretches of a statement in which no rule edits anything, made strings: to the tokenizer each is one token.

A statement of some kilobytes is mostly columns, expressions, rows of VALUES or keys behind IN. What comes out is as
long as what goes in and has its line breaks, so that the places of all other tokens hold.
"""

from __future__ import annotations

import re

_KEPT = 8  # tokens at each end of a stretch: no rule looks farther from the word that it edits
_LONGEST_GROUP = 50  # tokens between parentheses: longer ones are a stretch of their own
_SHORTEST = 100  # characters: a shorter stretch costs less than it would save

# words that rules look for, wherever they stand
_LOUD = (
    "ARRAY|BINARY|BYTES|FROM|INTO|JOIN|MAP|MULTISET|OVERWRITE|ROW|SELECT|STREAM|TABLE|TIMESTAMP|TIMESTAMP_LTZ"
    r"|TIMESTAMP_NTZ|UNNEST|UPDATE|USING|VALUES|VARBINARY|VARCHAR|PAIMON_\w+"
)
_INITIALS = "".join(sorted({word[0] for word in _LOUD.split("|")}))
_WORD = rf"(?!(?=[{_INITIALS}])(?:{_LOUD})\b)\w++(?!['\"$])"
_QUOTED = r"""'[^'\\]*+'(?!')|"[^"\\]*+"(?!")|`[^`]*+`(?!`)"""
_PIECE = rf"\s*+(?:{_WORD}|{_QUOTED}|[.,=<>!+*%|&^~]|-(?!-))"
_INNER_GROUP = rf"\s*+\((?:{_PIECE}){{0,{_LONGEST_GROUP}}}+\s*+\)"
_PART = rf"(?:{_PIECE}|\s*+\((?:{_PIECE}|{_INNER_GROUP}){{0,{_LONGEST_GROUP}}}+\s*+\))"

_SIZED_TYPE = r"(?:DECIMAL|CHAR|VARCHAR)\s*+\([\d\s,]++\)"
_TYPE = rf"(?:TINYINT|SMALLINT|INT|INTEGER|BIGINT|FLOAT|DOUBLE|BOOLEAN|STRING|DATE|{_SIZED_TYPE})"
_COLUMN = rf"\s*+(?:\w++|`[^`]*+`)\s++{_TYPE}(?:\s++NOT\s++NULL)?+(?:\s++COMMENT\s++'[^'\\]*+')?+\s*+,"

# quotes and comments; none that is not closed, and no comment in a comment
_COMMENT = r"--[^\n]*+|/\*(?!\+)(?:(?!/\*|\*/).)*+\*/"
_OTHER = (
    r"""(?<=\b[rR])(?:'[^']*+'|"[^"]*+")|'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|`[^`]*+`"""
    rf"|{_COMMENT}|/\*\+|/(?!\*)"
)


def _pattern(stretch: str, other: str) -> re.Pattern[str]:
    return re.compile(f"{stretch}|{_OTHER}|{other}", re.IGNORECASE | re.DOTALL)


_EXPRESSIONS = _pattern(rf"{_PART}{{{_KEPT}}}({_PART}*){_PART}{{{_KEPT}}}|{_PART}++", r"\w++|\s++|[^\w'\"`/]")
_COLUMNS = _pattern(rf",((?:{_COLUMN})++)", r"[^,'\"`/-]++|[,-]")
_FIRST_WORD = re.compile(
    rf"(?:\s++|{_COMMENT})*+(?:EXPLAIN\s++(?:\w++\s++)?)?(SELECT|WITH|INSERT|FROM|UPDATE|DELETE|MERGE|CREATE)\b",
    re.IGNORECASE | re.DOTALL,
)


def without_quiet_stretches(text: str) -> str:
    """The text with its long quiet stretches as strings."""
    first = _FIRST_WORD.match(text)
    if first is None or len(text) < _SHORTEST:
        return text
    if first[1].upper() != "CREATE":
        return _replaced(text, _EXPRESSIONS)
    has_fields = "<" in text or "row" in text.lower()  # those of a type look like columns
    return text if has_fields else _replaced(text, _COLUMNS)


def _replaced(text: str, pattern: re.Pattern[str]) -> str:
    pieces: list[str] = []
    position = 0
    while position < len(text):
        found = pattern.match(text, position)
        if found is None:
            return text  # some quote or comment is not closed
        start, end = found.span(1)
        if end - start >= _SHORTEST:
            pieces += text[position:start], _as_string(text[start:end]), text[end : found.end()]
        else:
            pieces.append(found[0])
        position = found.end()
    return "".join(pieces)


def _as_string(stretch: str) -> str:
    """A string of the same length with the same line breaks, and a comma where there was one."""
    bare = stretch.strip()
    comma = "," if "," in bare else ""
    inner = bare[1 : -1 - len(comma)]
    filled = "\n".join("x" * len(line) for line in inner.split("\n"))
    return stretch.replace(bare, f"'{filled}'{comma}")
