from __future__ import annotations

import pytest

from paimon_sql.preprocess.lexing import tokenize


def test_symbols_are_words_and_signs_and_marks_of_literals():
    tokens = tokenize("Select 'a', `b$c` /* c */ <= 10 /*+ r'' X'1F' \"d\" 1L t$x")
    assert tokens.symbols == ["SELECT", "'", ",", "`", "<", "=", "0", "/*+", "'", "0", "'", "1L", "T$X"]
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


def test_parentheses_know_what_closes_them():
    assert tokenize("((a) b (c) ) ) ( [").closings == {0: 8, 1: 3, 5: 7}


@pytest.mark.parametrize("text", ["SELECT 'a\\\nb' -- c \\\n'", "$$ a $$", "SELECT 'a", "SELECT a /* b"])
def test_what_spark_reads_in_other_tokens_has_none(text):
    assert tokenize(text) is None
