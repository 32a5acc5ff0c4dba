"""Full-text index files: what is found in them, and damaged files, which native code never reads."""

from __future__ import annotations

import contextlib
import json
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.errors import (
    CorruptFileError,
    InvalidOptionError,
    UnfamiliarFormError,
    UnreadableFileError,
    UnsupportedFeatureError,
)
from paimon_core.indexes.full_text import TextQuery, encode_full_text, search_full_text, search_texts
from paimon_core.spec.types import INT, STRING, DataField
from tests.support.examples import examples

TEXTS = ["Apache Paimon is a lake format", None, "searching vectors in lakes", "paimon paimon", "", "a\0zero"]
PAIMON = '{"match": {"query": "paimon"}}'


def encoded(texts: list[str | None] | None = None, **settings: str) -> bytes:
    chosen = TEXTS if texts is None else texts
    column = pa.chunked_array([pa.array(chosen[:2], pa.string()), pa.array(chosen[2:], pa.string())])
    spelled = {k.replace("_", "-"): v for k, v in settings.items()}
    return encode_full_text(spelled, column, np.arange(len(chosen), dtype=np.int64))


def found(
    data: bytes, query: str = PAIMON, limit: int = 10, allowed: list[int] | None = None, rows: int = len(TEXTS)
) -> dict[int, float]:
    chosen = None if allowed is None else np.isin(np.arange(rows), allowed)
    asked = TextQuery("t", query, limit)
    ids, scores = search_full_text("x.index", len(data), rows, lambda at, size: data[at : at + size], asked, chosen)
    return dict(zip(ids.tolist(), scores.tolist(), strict=True))


def test_rows_and_scores() -> None:
    data = encoded()
    best = found(data)
    assert list(best) == [3, 0] and best[3] > best[0] > 0
    assert list(found(data, limit=1)) == [3]
    assert list(found(data, allowed=[0, 1, 2])) == [0] and found(data, allowed=[1]) == {} == found(data, allowed=[])
    assert found(data, '{"match": {"query": "lake"}}').keys() == {0, 2}
    assert set(found(data, '{"match": {"query": "zero"}}')) == {5}, "a zero ends no text"
    assert found(data, '{"match": {"query": "lake paimon", "operator": "And"}}').keys() == {0}
    assert found(data, '{"match_phrase": {"query": "lake format"}}').keys() == {0}
    assert found(encoded([None, None, None, None]), rows=4) == {}


def test_settings() -> None:
    data = encoded(tokenizer="ngram", ngram_min_gram="2", ngram_max_gram="3")
    query = '{"match": {"query": "aim"}}'
    assert set(found(data, query)) == {0, 3} and found(encoded(), query) == {}
    for settings, said in (({"tokenizer": "x"}, "tokenizer"), ({"max_token_length": "y"}, "max-token-length")):
        with pytest.raises(InvalidOptionError, match=f"full-text.{said} = .* cannot be made"):
            encoded(**settings)


@pytest.mark.parametrize("query", ["paimon", "{", "[]", '{"match": 1}', '{"other": {"query": "x"}}', "\0"])
def test_queries_that_are_none(query: str) -> None:
    field = DataField(id=0, name="t", type=STRING)
    with pytest.raises(InvalidOptionError, match="A search for texts cannot be"):
        TextQuery.of(field, query, 3, {})
    with pytest.raises(InvalidOptionError, match="A search for texts cannot be"):
        search_texts(TextQuery("t", query, 3), pa.chunked_array([["x"]]))


def test_columns_and_limits() -> None:
    with pytest.raises(InvalidOptionError, match="cannot return 0 rows"):
        TextQuery.of(DataField(id=0, name="t", type=STRING), PAIMON, 0, {})
    with pytest.raises(InvalidOptionError, match="Column 't' of type INT has no texts to search in"):
        TextQuery.of(DataField(id=0, name="t", type=INT), PAIMON, 1, {})
    query = TextQuery.of(DataField(id=0, name="t", type=STRING), PAIMON, 1, {"full-text.stem": "false", "x": "y"})
    assert query.settings == (("stem", "false"),)


def test_phrases_need_positions() -> None:
    with pytest.raises(InvalidOptionError, match="positions"):
        found(encoded(with_position="false"), '{"match_phrase": {"query": "lake format"}}')


def test_rows_without_an_index() -> None:
    texts = pa.chunked_array([TEXTS])
    ids, scores = search_texts(TextQuery("t", PAIMON, 10), texts)
    assert dict(zip(ids.tolist(), scores.tolist(), strict=True)) == found(encoded())
    assert len(search_texts(TextQuery("t", PAIMON, 10), pa.chunked_array([], pa.string()))[0]) == 0


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "paimon_ftindex", None)
    with pytest.raises(UnsupportedFeatureError, match=r"needs the package paimon_ftindex.*\[fulltext\]"):
        TextQuery.of(DataField(id=0, name="t", type=STRING), PAIMON, 1, {})


def _with_header(data: bytes, change: Any) -> bytes:
    length = int.from_bytes(data[12:16], "big")
    head = json.loads(data[16 : 16 + length])
    change(head)
    new = json.dumps(head).encode()
    return data[:12] + len(new).to_bytes(4, "big") + new + data[16 + length :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d[:15], "fewer than a header"),
        (lambda d: b"XFTIDX01" + d[8:], "it begins with"),
        (lambda d: d[:12] + b"\x7f" + d[13:], "longer than the file"),
        (lambda d: d[:12] + b"\xff" + d[13:], "longer than the file"),
        (lambda d: d[:16] + b"x" + d[17:], "not valid JSON"),
        (lambda d: d[:-30], "lies outside of it"),
        (lambda d: _with_header(d, lambda h: h.pop("files")), "does not list its files"),
        (lambda d: _with_header(d, lambda h: h["metadata"].update(document_count=7)), "7 texts, for 6 rows"),
        (lambda d: _with_header(d, lambda h: h["files"][1].update(offset=-1)), "lies outside of it"),
        (lambda d: _with_header(d, lambda h: h["files"][1].update(length=2**70)), "lies outside of it"),
        (lambda d: _with_header(d, lambda h: h["files"][1].update(length=3)), "does not end with a checksum"),
        (lambda d: _with_header(d, lambda h: h["files"][1].update(offset=1)), "checksum"),
    ],
)
def test_damaged_files(change: Any, message: str) -> None:
    with pytest.raises(CorruptFileError, match=message):
        found(change(encoded()))


def test_another_version() -> None:
    data = encoded()
    with pytest.raises(UnfamiliarFormError, match="its version is 2"):
        found(data[:11] + b"\2" + data[12:])
    with pytest.raises(CorruptFileError, match="it does not have"):
        search_full_text("x", len(data) + 1, 6, lambda at, size: data[at : at + size], TextQuery("t", PAIMON, 1), None)


def test_files_with_wrong_bits() -> None:
    """Native code would end in panics, or never: the checksums are compared first."""
    data, chosen = encoded(), random.Random(7)  # noqa: S311  not a secret
    start = 16 + int.from_bytes(data[12:16], "big")
    files = [f for f in json.loads(data[16:start])["files"] if not f["name"].endswith(".json")]
    checked = [range(start + f["offset"], start + f["offset"] + f["length"]) for f in files]
    for _ in range(examples(300)):
        broken = bytearray(data)
        at = chosen.randrange(start, len(data))
        broken[at] ^= 1 << chosen.randrange(8)
        if any(at in part for part in checked):
            with pytest.raises(CorruptFileError):
                found(bytes(broken))
        else:  # JSON has no checksum
            with contextlib.suppress(UnreadableFileError):
                found(bytes(broken))


@pytest.mark.parametrize("key", ["ngram.max-gram", "ngram.max_gram", "max-token-length", "max_token_length"])
def test_settings_that_take_hours_are_refused(key: str) -> None:
    """They may come from an index file that another wrote."""
    texts = pa.chunked_array([["x" * 10_000]])
    for value in ("2000000", " 5000", "+9999"):
        with pytest.raises(InvalidOptionError, match="use at most"):
            search_texts(TextQuery("t", '{"match": {"query": "x"}}', 1, ((key, value),)), texts)


def test_long_queries_are_refused() -> None:
    with pytest.raises(InvalidOptionError, match="at most 16384"):
        TextQuery.of(DataField(id=0, name="t", type=STRING), "x" * 20_000, 1, {})
