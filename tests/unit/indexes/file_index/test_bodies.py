"""Bodies of indexes: layouts that options choose, what they hold again, and what damage does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from paimon_core.errors import CorruptFileError, InvalidOptionError, UnsupportedVersionError
from paimon_core.expressions.predicate import Compare, In, IsNotNull, IsNull, Predicate
from paimon_core.indexes.file_index.bloom_filter import BloomFilter
from paimon_core.indexes.file_index.container import body_of, decode_head, encode_container
from paimon_core.indexes.file_index.cursor import ByteCursor, encode_text
from paimon_core.indexes.file_index.keys import ByteKeys, KeyType, join_entries
from paimon_core.indexes.file_index.registry import INDEX_TYPES, decode_index
from paimon_core.indexes.matching_rows import IndexedColumn, matching_rows
from paimon_core.spec.hashing.hash64 import xxh64
from paimon_core.spec.types import BIGINT, STRING, DataType
from tests.support.examples import examples
from tests.support.file_indexes import index_body

ROWS: list[Any] = [3, None, 1, 3, 7, None, 1, 3, 2**40, -5]
TEXTS = [None if n is None else f"value {n}" for n in ROWS]
QUESTIONS: tuple[tuple[Predicate, set[int]], ...] = (
    (In("c", (3, -5)), {0, 3, 7, 9}),
    (Compare("c", "=", 4), set()),
    (IsNull("c"), {1, 5}),
    (IsNotNull("c"), {0, 2, 3, 4, 6, 7, 8, 9}),
    (Compare("c", "!=", 3), {2, 4, 6, 8, 9}),
)
RANGES: tuple[tuple[Predicate, set[int]], ...] = (
    (Compare("c", "<", 3), {2, 6, 9}),
    (Compare("c", "<=", 2), {2, 6, 9}),
    (Compare("c", ">", -6), {0, 2, 3, 4, 6, 7, 8, 9}),
    (Compare("c", ">=", 8), {8}),
)


def ask(
    predicate: Predicate, data_type: DataType, index_type: str, body: bytes | None, rows: int = 10
) -> BitMap | None:
    index = decode_index("FILE", index_type, data_type, body, rows)
    assert index is not None
    return matching_rows(predicate, lambda name: IndexedColumn(data_type, [index]))


@pytest.mark.parametrize(
    ("index_type", "options"),
    [
        ("bitmap", {}),
        ("bitmap", {"version": "1"}),
        ("bitmap", {"index-block-size": "40 b"}),
        ("range-bitmap", {}),
        ("range-bitmap", {"chunk-size": "16 b"}),
        ("range-bitmap", {"chunk-size": "0 b"}),
        ("bsi", {}),
    ],
)
def test_every_layout_tells_the_same(index_type: str, options: dict[str, str]) -> None:
    body = index_body(ROWS, BIGINT, index_type, options)
    for predicate, expected in (*QUESTIONS, *(RANGES if index_type != "bitmap" else ())):
        assert set(ask(predicate, BIGINT, index_type, body) or ()) == expected, predicate


@pytest.mark.parametrize(
    ("index_type", "options"),
    [("bitmap", {"version": "1"}), ("bitmap", {"index-block-size": "60 b"}), ("range-bitmap", {"chunk-size": "36 b"})],
)
def test_strings_in_blocks(index_type: str, options: dict[str, str]) -> None:
    body = index_body(TEXTS, STRING, index_type, options)
    assert set(ask(In("c", ("value 3", "value -5", "valu")), STRING, index_type, body) or ()) == {0, 3, 7, 9}
    assert set(ask(IsNull("c"), STRING, index_type, body) or ()) == {1, 5}
    with pytest.raises(InvalidOptionError, match="does not fit"):
        index_body(TEXTS, STRING, "bitmap", {"index-block-size": "12 b"})


@pytest.mark.parametrize("index_type", INDEX_TYPES)
def test_a_column_without_values(index_type: str) -> None:
    body = index_body([None, None], BIGINT, index_type)
    assert ask(Compare("c", "=", 1), BIGINT, index_type, body, 2) == BitMap()
    assert ask(IsNull("c"), BIGINT, index_type, body, 2) in (BitMap([0, 1]), None)
    assert ask(Compare("c", ">", 1), BIGINT, index_type, None, 2) == BitMap()


def test_a_number_that_has_no_absolute_value_has_no_bit_slices() -> None:
    assert index_body([1, -(2**63)], BIGINT, "bsi") is None
    assert ask(Compare("c", ">=", -(2**63)), BIGINT, "bsi", index_body([1, None], BIGINT, "bsi"), 2) == BitMap([0])


def test_xxh64_of_known_texts() -> None:
    known = {
        b"": 0xEF46DB3751D8E999,
        b"a": 0xD24EC4F1A98C6E5B,
        b"abc": 0x44BC2CF5AD770999,
        b"Nobody inspects the spammish repetition": 0xFBCEA83C8A378BF1,
    }
    words = np.frombuffer(b"".join(t.ljust(40, b"\0") for t in known), dtype="<u8").reshape(len(known), -1)
    assert xxh64(words, np.array([len(t) for t in known])).tolist() == list(known.values())


@settings(max_examples=examples(40))
@given(st.lists(st.binary(max_size=40), unique=True, max_size=6), st.data())
def test_entries_are_read_as_they_were_joined(texts: list[bytes], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=len(texts), max_size=len(texts)))
    joined = join_entries(KeyType(0), ByteKeys.of(texts), np.array(numbers, dtype=np.int64))
    cursor = ByteCursor("x", joined)
    assert [(KeyType(0).read(cursor), cursor.number(4)) for _ in texts] == list(zip(texts, numbers, strict=True))


@settings(max_examples=examples(60))
@given(st.text(max_size=12))
def test_names_are_modified_utf_8(name: str) -> None:
    encoded = encode_text(name)
    assert ByteCursor("x", encoded).text() == name and b"\0" not in encoded[2:]


def test_containers_hold_what_was_put_in() -> None:
    bodies = {"a": {"bitmap": b"123", "bsi": None}, "m[k]": {"bloom-filter": b"4"}}
    container = encode_container(bodies)
    locations = decode_head("x", container)
    assert [(p.column, p.index_type, p.length) for p in locations] == [
        ("a", "bitmap", 3),
        ("a", "bsi", 0),
        ("m[k]", "bloom-filter", 1),
    ]
    assert [body_of("x", container, p) for p in locations] == [b"123", None, b"4"]
    with pytest.raises(CorruptFileError, match="FILE is corrupt.*begins with.*rewrite_file_index"):
        decode_head("FILE", b"no index" * 3)


@settings(max_examples=examples(300))
@given(
    st.sampled_from(["bitmap", "bitmap 1", "bsi", "range-bitmap", "bloom-filter", "container"]),
    st.booleans(),
    st.data(),
)
def test_damaged_bytes_are_refused(kind: str, text: bool, data: st.DataObject) -> None:
    """Whatever the bytes: an answer, `CorruptFileError`, or an error for the version byte of a later format."""
    text = text and kind != "bsi"
    index_type, _, version = kind.partition(" ")
    data_type, values = (STRING, TEXTS) if text else (BIGINT, ROWS)
    made = "bitmap" if kind == "container" else index_type
    body = index_body(values, data_type, made, {"version": version} if version else {}) or b""
    whole = bytearray(encode_container({"c": {"bitmap": body}}) if kind == "container" else body)
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.sampled_from([0, 1, 127, 128, 255]))
    damaged = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    value = "value 3" if text else 3
    try:
        if kind == "container":
            for location in decode_head("FILE", damaged):
                body_of("FILE", damaged, location)
        else:
            for op in ("=", "!=", "<", ">="):
                ask(Compare("c", op, value), data_type, index_type, damaged)  # type: ignore[arg-type]
            ask(IsNull("c"), data_type, index_type, damaged)
    except CorruptFileError as error:
        assert "FILE" in str(error) and "rewrite_file_index" in str(error)
    except UnsupportedVersionError as error:
        assert "FILE" in str(error) and "file-index.read.enabled" in str(error)


def test_filters_that_do_not_exist() -> None:
    for items, fpp in ((0, 0.1), (10, 0.0), (10, 1.0), (2**31 - 1, 1e-9)):
        with pytest.raises(InvalidOptionError):
            BloomFilter(items, fpp)
