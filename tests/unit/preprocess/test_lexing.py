from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlglot.errors import TokenError

from paimon_sql.preprocess.lexing import SparkTokenizer, Token, scan, tokenize

_NUMBERS_AND_WORDS = "a B1 _x t$f é ß ͅ ſ ı ٣ ² ⓐ € 1 12 1. 1.5 . .. 1e5 0x1 1a L $ ${x}"
_QUOTES = r"""' " ` 'a' 'it''s' \\ \' \u0041 r' x' N" "a\"b" `a``b`"""
_SIGNS = "- -- / /* */ /*+ + * # { } {# #} @ ? : = ! < > ( ) [ ] ; & ~ ^ % , | ||"
_BLANKS = [" ", "\t", "\n", "\r\n", "\r", "\x1c", "\x85", "\x00", "/* a */", "-- c\n"]


def of_sqlglot(text: str) -> list[Token] | None:
    try:
        found = SparkTokenizer(dialect="spark").tokenize(text)
    except TokenError:
        return None
    return [Token(text, token.start, token.end, token.token_type, token.text) for token in found]


@given(
    st.lists(st.sampled_from([*_NUMBERS_AND_WORDS.split(), *_QUOTES.split(), *_SIGNS.split(), *_BLANKS])).map("".join)
)
@example("a -- it's\n, 'b\\'c' /* ' */ `d`")
def test_the_tokens_of_plain_text_are_those_of_sqlglot(text):
    tokens, is_whole = scan(text)
    expected = of_sqlglot(text)
    assert is_whole == (expected is not None)
    assert expected is None or list(tokens) == expected


def test_symbols_are_words_signs_and_quoted_literals_wherever_they_are_read():
    plain, other = tokenize("Select 'a', `b` /* c */ <= 10 /*+"), tokenize("Select 'a', `b` /* c */ <= 10 /*+ r''")
    assert plain.symbols == other.symbols[:-1] == ["SELECT", "'A'", ",", "`B`", "<", "=", "10", "/*+"]
    assert (plain.starts, plain.ends) == (other.starts[:-1], other.ends[:-1])
    for tokens in (plain, other):
        assert [i for i in range(8) if tokens.is_name(i)] == [0, 3]
        assert [i for i in range(8) if tokens.is_string(i)] == [1]


def test_parentheses_know_what_closes_them():
    assert tokenize("((a) b (c) ) ) ( [").closings == {0: 8, 1: 3, 5: 7}


@pytest.mark.parametrize("text", ["SELECT 'a\\\nb' -- c \\\n'", "$$ a $$", "SELECT 'a", "SELECT a /* b"])
def test_what_spark_reads_in_other_tokens_has_none(text):
    assert tokenize(text) is None
