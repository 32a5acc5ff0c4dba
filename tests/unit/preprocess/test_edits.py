from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.preprocess import preprocess
from paimon_sql.preprocess.edits import Edit, Rewriting


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("SELECT * FROM t$files, s$files WHER x = 1", "WHER"),
        ("CREATE TABLE t (k BYTES,\n v VARCHAR nope,\n PRIMARY KEY (k)) WITH ('a' = 'b') nope2", "nope2"),
        ("CREATE TABLE t (k BYTES,\n v VARCHAR nope,\n PRIMARY KEY (k)) WITH ('a' = 'b') nope2", "nope"),
        ("ALTER TABLE t SET ('bucket' '1') nope", "nope"),
        ("SELECT * FROM paimon_incremental_query('t', 1,\n 2) nope", "nope"),
    ],
)
def test_what_follows_edits_is_found_where_it_is_written(text, word):
    statement = preprocess(text)
    assert statement.edits
    offset = statement.text.rindex(word)
    assert statement.offset(offset) == text.rindex(word)
    lines = statement.text[:offset].split("\n")
    before = text[: text.rindex(word)].split("\n")
    assert statement.position((len(lines), len(lines[-1]))) == (len(before), len(before[-1]))


def test_what_an_edit_put_there_is_where_the_edit_begins():
    statement = Rewriting("abc\ndef\ng", (Edit(1, 5, "XYZ"), Edit(7, 7, "??")))
    assert statement.text == "aXYZ\nef??\ng"
    assert [statement.offset(offset) for offset in range(11)] == [0, 1, 1, 1, 1, 5, 6, 7, 7, 7, 8]


@given(st.text(alphabet="ab\n"), st.data())
def test_offsets_keep_their_order(text, data):
    bounds = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    statement = Rewriting(text, [Edit(a, b, data.draw(st.text(alphabet="x\n", max_size=4))) for a, b in pairs])
    offsets = [statement.offset(offset) for offset in range(len(statement.text) + 1)]
    assert offsets == sorted(offsets)
    assert set(offsets) <= set(range(len(text) + 1))
