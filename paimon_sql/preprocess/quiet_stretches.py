"""Long stretches of a statement in which no rule edits anything, made strings: to the tokenizer each is one token.

A statement of some kilobytes is mostly columns, expressions, rows of VALUES or keys behind IN. What comes out is as
long as what goes in and has its line breaks, so that the places of all other tokens hold.

Patterns repeat a group in an atomic one, `(?>(?:…)*)`: Python before 3.11.5 loses matches of the possessive form
(gh-106052).
"""

from __future__ import annotations

import re

from paimon_sql.preprocess.fillers import as_string

_KEPT = 8  # tokens at each end of a stretch: no rule looks farther from the word that it edits
_LONGEST_GROUP = 50  # tokens between parentheses: longer ones are a stretch of their own
_SHORTEST = 100  # characters: a shorter stretch costs less than it would save

# words that rules look for, wherever they stand
_LOUD = (
    "ARRAY|BINARY|BYTES|FROM|INTO|JOIN|MAP|MULTISET|OVERWRITE|ROW|SELECT|STREAM|TABLE|TIMESTAMP|TIMESTAMP_LTZ"
    r"|TIMESTAMP_NTZ|UNNEST|UPDATE|USING|VALUES|VARBINARY|VARCHAR|PAIMON_\w+"
)
_FEW_LOUD = r"PAIMON_\w+"  # where a statement has no hint, constructor or type of Flink's
_OF_MORE = ("/*+", "unnest", "array", "map", "row", "bytes", "binary", "multiset", "varchar", "timestamp")


def _parts(loud: str) -> str:
    """What a stretch is made of: words that are not loud, quotes, operators, and short groups of these."""
    initials = "".join(sorted({word[0] for word in loud.split("|")}))
    word = rf"(?!(?=[{initials}])(?:{loud})\b)\w++(?!['\"$])"
    quoted = r"""'[^'\\]*+'(?!')|"[^"\\]*+"(?!")|`[^`]*+`(?!`)"""
    piece = rf"\s*+(?:{word}|{quoted}|[.,=<>!+*%|&^~]|-(?!-))"
    inner = rf"\s*+\((?>(?:{piece}){{0,{_LONGEST_GROUP}}})\s*+\)"
    return rf"(?:{piece}|\s*+\((?>(?:{piece}|{inner}){{0,{_LONGEST_GROUP}}})\s*+\))"


_OPTION = r"\s*+'(?!connector'|primary-key')[^'\\]*+'(?!')\s*+=\s*+'[^'\\]*+'(?!')\s*+,"

# quotes and comments; none that is not closed, and no comment in a comment
_COMMENT = r"--[^\n]*+|/\*(?!\+)(?>(?:(?!/\*|\*/).)*)\*/"
_OTHER = (
    r"""(?<=\b[rR])(?:'[^']*+'|"[^"]*+")|'(?>(?:[^'\\]|\\.)*)'|"(?>(?:[^"\\]|\\.)*)"|`[^`]*+`"""
    rf"|{_COMMENT}|/\*\+|/(?!\*)"
)


def _pattern(stretch: str, other: str) -> re.Pattern[str]:
    return re.compile(f"{stretch}|{_OTHER}|{other}", re.IGNORECASE | re.DOTALL)


def _expressions(loud: str) -> re.Pattern[str]:
    part = _parts(loud)
    return _pattern(rf"{part}{{{_KEPT}}}({part}*){part}{{{_KEPT}}}|(?>{part}+)", r"\w++|\s++|[^\w'\"`/]")


_EXPRESSIONS, _PLAIN_EXPRESSIONS = _expressions(_LOUD), _expressions(_FEW_LOUD)
_OPTIONS = _pattern(rf"[,(]((?>(?:{_OPTION})+))", r"[^,('\"`/-]++|[,(-]")
_FIRST_WORD = re.compile(
    rf"(?>(?:\s++|{_COMMENT})*)(?:EXPLAIN\s++(?:\w++\s++)?)?(SELECT|WITH|INSERT|FROM|UPDATE|DELETE|MERGE|CREATE|ALTER)\b",
    re.IGNORECASE | re.DOTALL,
)
_SETS = re.compile(r"ALTER\s++TABLE\s++[\w.`]++\s++SET\s*+\(", re.IGNORECASE)
_QUERY = re.compile(r"\bAS\s++SELECT\b", re.IGNORECASE)
_UP_TO_QUERY = re.compile(rf"{_OTHER}|(AS\b\s*+SELECT\b)|\w++|[^\w'\"`/-]++|-", re.IGNORECASE | re.DOTALL)


def without_quiet_stretches(text: str) -> str:
    """The text with its long quiet stretches as strings."""
    first = _FIRST_WORD.match(text)
    if first is None or len(text) < _SHORTEST:
        return text
    word = first[1].upper()
    if word == "CREATE":
        query = _query(text)
        return _without_options(text[:query]) + _without_expressions(text[query:])
    if word == "ALTER":
        return _without_options(text) if _SETS.match(text, first.start(1)) else text
    return _without_expressions(text)


def _without_expressions(text: str) -> str:
    lower = text.lower()
    has_more = any(word in lower for word in _OF_MORE)
    return _replaced(text, _EXPRESSIONS if has_more else _PLAIN_EXPRESSIONS) or text


def _without_options(text: str) -> str:
    return _replaced(text, _OPTIONS) or text


def _query(text: str) -> int:
    """Where the query of CREATE TABLE … AS SELECT begins; the end where there is none."""
    position = 0 if _QUERY.search(text) else len(text)
    while position < len(text):
        found = _UP_TO_QUERY.match(text, position)
        if found is None:
            break
        if found[1]:
            return found.start(1)
        position = found.end()
    return len(text)


def _replaced(text: str, pattern: re.Pattern[str]) -> str | None:
    """The text with strings for stretches; None where some quote or comment is not closed."""
    pieces: list[str] = []
    position = 0
    while position < len(text):
        found = pattern.match(text, position)
        if found is None:
            return None
        start, end = found.span(1)
        if end - start >= _SHORTEST:
            pieces += text[position:start], as_string(text[start:end]), text[end : found.end()]
        else:
            pieces.append(found[0])
        position = found.end()
    return "".join(pieces)
