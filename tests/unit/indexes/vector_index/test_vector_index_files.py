"""Files of vector indexes: what they find, by a model and by the library, and damaged files."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.arrow.nearest import METRICS, Floats, largest, scores_of
from paimon_core.errors import CorruptFileError, InvalidOptionError, UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.indexes.vector_index import library
from paimon_core.indexes.vector_index.files import VectorIndexFile, encode_vector_index, open_vector_index
from paimon_core.indexes.vector_index.layout import DISKANN, IVF_FLAT, VECTOR_INDEXES
from paimon_core.indexes.vector_index.lists import list_count, probe_count
from tests.support.examples import examples

vindex: Any = pytest.importorskip("paimon_vindex")
ROWS = 400
SPAN = 1000  # some rows have no vector
WIDE = {DISKANN: 300}


def vectors(count: int = ROWS, length: int = 8) -> Floats:
    return np.random.default_rng(count).standard_normal((count, length), dtype=np.float32)


def rows_of(count: int = ROWS) -> Any:
    return np.sort(np.random.default_rng(1).choice(SPAN, count, replace=False)).astype(np.int64)


def opened(kind: str, data: bytes, rows: int = SPAN) -> VectorIndexFile:
    return open_vector_index("made.index", kind, len(data), rows, lambda start, size: data[start : start + size])


def made(kind: str, metric: str = "l2", **settings: str) -> bytes:
    given = {"ivf-pq": {"pq.m": "4"}}.get(kind, {}) | settings
    return encode_vector_index(kind, metric, given, vectors(), rows_of())


def best(query: Floats, metric: str, limit: int, allowed: Any = None) -> list[int]:
    """The nearest rows, by comparing all vectors."""
    rows, stored = rows_of(), vectors()
    if allowed is not None:
        stored, rows = stored[allowed[rows]], rows[allowed[rows]]
    found: list[int] = rows[largest(scores_of(stored, query, metric), limit)].tolist()
    return found


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", VECTOR_INDEXES)
def test_nearest_rows(kind: str, metric: str) -> None:
    file, query = opened(kind, made(kind, metric)), vectors()[7] + np.float32(0.01)
    assert (file.head.metric, file.head.length, file.head.count) == (metric, 8, ROWS)
    ids, scores = file.nearest(query, 10, WIDE.get(kind, ROWS), None)
    expected = best(query, metric, 10)
    assert len(ids) == 10 and len(set(ids.tolist()) & set(expected)) >= (10 if kind == IVF_FLAT else 6)
    if kind == IVF_FLAT:
        assert ids.tolist() == expected
        order = [rows_of().tolist().index(i) for i in ids]
        np.testing.assert_allclose(scores, scores_of(vectors()[order], query, metric), rtol=1e-4)
    allowed = np.zeros(SPAN, dtype=np.bool_)
    allowed[rows_of()[::50]] = True
    ids, _ = file.nearest(query, 5, None, allowed)
    assert len(ids) == 5 and allowed[ids].all()
    assert len(file.nearest(query, 5, None, np.zeros(SPAN, dtype=np.bool_))[0]) == 0
    assert len(file.nearest(query, 2 * ROWS, None, None)[0]) == ROWS


@pytest.mark.parametrize("metric", METRICS)
def test_the_library_and_we_read_the_same_files(metric: str) -> None:
    class Input:
        def __init__(self, data: bytes) -> None:
            self.data = data

        def pread_many(self, ranges: Any) -> list[bytes]:
            return [self.data[start : start + size] for start, size in ranges]

    options = {"index.type": "ivf_flat", "dimension": "8", "metric": metric, "nlist": "6"}
    with vindex.VectorIndexTrainer.train(options, vectors()) as training, vindex.VectorIndexWriter(training) as writer:
        writer.add_vectors(rows_of(), vectors())
        writer.write(file := io.BytesIO())
    for data in (file.getvalue(), made(IVF_FLAT, metric, nlist="6")):
        with vindex.VectorIndexReader(Input(data)) as reader:
            assert reader.metadata().nlist == 6
            for query, probes in zip(vectors()[::80], (1, 2, 3, 4, 6), strict=True):
                theirs, _ = reader.search(query, vindex.SearchParams.ivf(5, probes))
                ours, _ = opened(IVF_FLAT, data).nearest(query, 5, probes, None)
                assert ours.tolist() == theirs.tolist()


@settings(max_examples=examples(30))
@given(st.integers(1, 60), st.integers(1, 70), st.integers(1, 8), st.sampled_from(METRICS))
def test_all_lists_find_what_comparing_finds(count: int, limit: int, lists: int, metric: str) -> None:
    stored = vectors(count, 3).round(1)
    rows = np.arange(count, dtype=np.int64) * 3
    data = encode_vector_index(IVF_FLAT, metric, {"nlist": str(lists)}, stored, rows)
    ids, scores = opened(IVF_FLAT, data).nearest(stored[0], limit, lists, None)
    truth = scores_of(stored, stored[0], metric)
    np.testing.assert_allclose(scores, np.sort(truth)[::-1][:limit], atol=1e-5)
    np.testing.assert_allclose(truth[ids // 3], scores, atol=1e-5)


def test_numbers_of_lists() -> None:
    assert [list_count(n) for n in (1, 10, 400, 100_000, 1_000_000)] == [1, 1, 4, 256, 1024]
    assert probe_count(64, 1_000_000, 10, 1_000_000) == 8
    assert probe_count(1024, 1_000_000, 10, 1_000_000) == 64
    assert probe_count(1024, 1_000_000, 10, 10_000) == 1024
    assert probe_count(1024, 1_000_000, 10, 0) == 0


@pytest.mark.parametrize("kind", VECTOR_INDEXES)
def test_damaged_files_end_in_an_error_or_in_rows(kind: str) -> None:
    """No file crashes native code, needs more memory than it has bytes, or gives rows that the table lacks."""
    good, random = made(kind), np.random.default_rng(5)
    bad = [good[:size] for size in random.integers(0, len(good), 20)]
    for at in random.integers(0, min(len(good), 500), 60).tolist():
        bad += [good[:at] + part + good[at + len(part) :] for part in (b"\xff\xff\xff\x7f", b"\0\0\0\x80")]
    errors = 0
    for data in bad:
        try:
            ids, _ = opened(kind, data).nearest(vectors()[3], 10, None, None)
            assert len(ids) <= 10 and ((ids >= 0) & (ids < SPAN)).all()
        except (CorruptFileError, UnfamiliarFormError):
            errors += 1
    assert errors > 20


@pytest.mark.parametrize("kind", VECTOR_INDEXES)
def test_damage_has_a_cause(kind: str) -> None:
    data = made(kind)
    with pytest.raises(CorruptFileError, match="begins with b'XXXX'"):
        opened(kind, b"XXXX" + data[4:])
    with pytest.raises(UnfamiliarFormError, match="version is 2"):
        opened(kind, data[:4] + b"\2" + data[5:])
    with pytest.raises(CorruptFileError, match="for 399 rows"):
        opened(kind, data, rows=ROWS - 1)
    with pytest.raises(CorruptFileError):
        opened(kind, data[:-1]).nearest(vectors()[0], 400, ROWS, None)


def test_rows_behind_the_range_of_a_file() -> None:
    for kind in VECTOR_INDEXES:
        with pytest.raises(CorruptFileError, match=r"rows"):
            opened(kind, made(kind), rows=int(rows_of()[-1])).nearest(vectors()[0], ROWS, WIDE.get(kind, ROWS), None)


def test_a_list_that_has_a_row_twice() -> None:
    data = made(IVF_FLAT, nlist="1")
    ((offset, _, id_bytes),) = opened(IVF_FLAT, data).head.table.tolist()
    at = offset + 12 + id_bytes - 1
    assert data[at]
    with pytest.raises(CorruptFileError, match=r"does not have \d+ ascending ids"):
        opened(IVF_FLAT, data[:at] + b"\0" + data[at + 1 :]).nearest(vectors()[0], 10, None, None)


def test_storage_errors_of_a_search_by_the_library() -> None:
    data, failing = made("ivf-pq"), False

    def fetch(start: int, size: int) -> bytes:
        if failing:
            raise FileNotFoundError("gone")
        return data[start : start + size]

    file = open_vector_index("made.index", "ivf-pq", len(data), SPAN, fetch)
    failing = True
    with pytest.raises(FileNotFoundError, match="gone"):
        file.nearest(vectors()[0], 5, None, None)


def test_settings_that_the_library_refuses() -> None:
    with pytest.raises(InvalidOptionError, match=r"type ivf-pq with .*pq.m = 3.* cannot be made"):
        encode_vector_index("ivf-pq", "l2", {"pq.m": "3", "nlist": "0"}, vectors(), rows_of())


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "paimon_vindex", None)
    with pytest.raises(UnsupportedFeatureError, match=r"ivf-pq needs the package paimon_vindex.*paimon-sql\[vectors\]"):
        library.vector_library("ivf-pq")
    assert len(opened(IVF_FLAT, made(IVF_FLAT)).nearest(vectors()[0], 3, None, None)[0]) == 3
