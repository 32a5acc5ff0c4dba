from __future__ import annotations

import pytest

from paimon_sql.preprocess.lexing import tokenize


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
