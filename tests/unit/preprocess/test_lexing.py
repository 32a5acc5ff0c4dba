from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.tokens import TokenType

from paimon_sql.preprocess.lexing import NUMBER, SparkTokenizer, scan, tokenize


def test_symbols_are_words_and_signs_and_marks_of_literals():
    tokens = tokenize("Select 'a', `b$c` /* c */ <= 10 /*+ r'' X'1F' \"d\" 1L t$x")
    assert tokens.symbols == ["SELECT", "'", ",", "`", "<", "=", "0", "/*+", "'", "X''", "'", "1L", "T$X"]
    assert [i for i in range(13) if tokens.is_name(i)] == [0, 3, 11, 12]
    assert [i for i in range(13) if tokens.is_string(i)] == [1, 8, 10]
    assert (tokens[3].text, tokens.start(3), tokens.end(3)) == ("b$c", 12, 17)
    assert tokens.indexes("'", ",") == [1, 2, 8, 10]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t$files$x é ß", ["t$files$x", "é", "ß"]),
        ("a -- it's\n, 'b\\'c' /* ' */ `d`", ["a", ",", "b'c", "d"]),
        ("'it''s'", ["it", "s"]),
        ("SHOW x - -1 + 1.5", ["SHOW", "x", "-", "-", "1", "+", "1.5"]),
    ],
)
def test_texts(text, words):
    assert [token.text for token in tokenize(text)] == words


_NUMBERS_AND_WORDS = "a B1 _x t$f é ß ı ٣ ² € 1 12 1. 1.5 . .. 1e5 0x1 1a 1L L $ ${x}"
_QUOTES = r"""' " ` 'a' 'it''s' \\ \' r' x'1F' N'a' "a\"b" `a``b`"""
_SIGNS = "- -- / /* */ /*+ + * # { } {# #} {{ {% @ ? : := :: || -> = == ! != < > <= ( ) [ ] ; & ~ ^ % , |"


@given(
    st.lists(st.sampled_from([*_NUMBERS_AND_WORDS.split(), *_QUOTES.split(), *_SIGNS.split(), " ", "\n"])).map("".join)
)
def test_symbols_say_what_tokens_are(text):
    tokens, is_whole = scan(text)
    kinds = [token.token_type for token in SparkTokenizer(dialect="spark").tokenize(text)] if is_whole else []
    for index, kind in enumerate(kinds):
        assert tokens.is_name(index) == (kind in (TokenType.VAR, TokenType.IDENTIFIER))
        assert tokens.is_string(index) == (kind in (TokenType.STRING, TokenType.RAW_STRING))
        assert (tokens.symbols[index] == NUMBER) == (kind is TokenType.NUMBER)


def test_parentheses_know_what_closes_them():
    assert tokenize("((a) b (c) ) ) ( [").closings == {0: 8, 1: 3, 5: 7}


@pytest.mark.parametrize("text", ["SELECT 'a\\\nb' -- c \\\n'", "$$ a $$", "SELECT 'a", "SELECT a /* b"])
def test_what_spark_reads_in_other_tokens_has_none(text):
    assert tokenize(text) is None
