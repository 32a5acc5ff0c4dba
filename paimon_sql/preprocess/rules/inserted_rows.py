"""Flink's constructors in the rows of `INSERT INTO t VALUES (1, ROW(2, 'x'), ARRAY[3]), …`, found without tokens.

Where all of a long list is plain values and constructors, each constructor's edit is known from the characters beside
it. Everything else is left to the tokenizer.
"""

from __future__ import annotations

import re

from paimon_sql.preprocess.fillers import as_string
from paimon_sql.preprocess.tokens import Edit

_DEEPEST = 10  # brackets in brackets
_SHORTEST = 500  # characters: fewer are tokenized as soon

_HEAD = re.compile(
    r"\s*+INSERT\s++(?:INTO|OVERWRITE)\s++(?!TABLE\b)[\w.`$]++\s*+(?>(?:\([\w\s,`]*+\)\s*+)?)VALUES\s*+(?=\()",
    re.IGNORECASE,
)
_STRING = r"'[^'\\]*+'(?!')"
_CONSTRUCTOR = r"(?:ROW\s*+\(|(?:ARRAY|MAP)\s*+\[)"
_LOUD = (
    r"ARRAY|BINARY|BYTES|CAST|FROM|MAP|MULTISET|ROW|SELECT|TABLE|TIMESTAMP\w*|TRY_CAST|UNNEST|VARBINARY|VARCHAR"
    r"|PAIMON_\w+"
)
_VALUE = rf"{_STRING}|(?!(?=[ABCFMRSTUVP])(?:{_LOUD})\b)\w++(?!['\"$])|[.=<>+*%]|-(?!-)|\s++"
_ROWS = re.compile(
    rf"(?>(?:[(,]\s*+(?:\d++(?![\w'\"$])|{_STRING}|(?>(?:(?=[AMR]){_CONSTRUCTOR}\s*+)*))|[)\]]|{_VALUE})+);?+\s*+\Z",
    re.IGNORECASE,
)
_BETWEEN = rf"(?>(?:{_STRING}|(?!{_CONSTRUCTOR})\w++|[^\w'\]]++)*)"
_EDITED = re.compile(rf"{_BETWEEN}(?:(ROW)|(?:ARRAY|MAP)\s*+(\[)|(\])|\Z)", re.IGNORECASE)
_INSTEAD = ("", "struct", "(", ")")  # of the groups
_NO_BRACKETS = bytes(set(range(256)) - set(b"()[]"))
_NO_BRACKET = re.compile(rf"{_STRING}|[^()\[\]]++")


def without_rows(text: str) -> tuple[str, list[Edit]]:
    """The text with its long list of rows as one string, and the edits in it; the very same where it is not plain."""
    head = _HEAD.match(text)
    if head is None or len(text) - head.end() < _SHORTEST or _ROWS.match(text, head.end()) is None:
        return text, []
    if not _is_balanced(text[head.end() :]):
        return text, []
    found = [(each.lastindex, each) for each in _EDITED.finditer(text, head.end())]
    edits = [Edit(*each.span(group), _INSTEAD[group]) for group, each in found if group]
    return text[: head.end()] + as_string(text[head.end() :]), edits


def _is_balanced(rows: str) -> bool:
    brackets = rows.encode("utf-8", "surrogatepass").translate(None, _NO_BRACKETS)
    if brackets.count(b"(") != brackets.count(b")") or brackets.count(b"[") != brackets.count(b"]"):
        brackets = _NO_BRACKET.sub("", rows).encode("utf-8", "surrogatepass")  # some are in strings
    for _ in range(_DEEPEST):
        brackets = brackets.replace(b"()", b"").replace(b"[]", b"")
    return not brackets
