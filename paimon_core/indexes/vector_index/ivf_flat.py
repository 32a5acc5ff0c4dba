"""`ivf-flat` index files: vectors in lists, each list near a centroid. A search compares the vectors of some lists.

    header, 64 bytes: magic "LFVI" | version: 1 | length, lists: int32 | metric: uint32 | vectors: int64 | flags: 1 | 0
    centroids: lists * length float32 | table of lists
    list: first id: int64 | bytes of ids: int32 | ids: varints, each the difference to the id before | vectors: float32

Ids ascend in a list. With cosine, vectors have the length 1. Source: apache/paimon-vector-index, `STORAGE_FORMAT.md`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from paimon_core.arrow.nearest import Floats, largest, scores_of
from paimon_core.indexes.global_index.block_codecs import Fetch, read_part
from paimon_core.indexes.global_index.blocks import BlockHandle, damaged
from paimon_core.indexes.vector_index.layout import CODED_METRICS, HEADER_SIZE, TABLE, VectorIndexHead
from paimon_core.indexes.vector_index.lists import (
    by_distance,
    list_count,
    nearest_lists,
    probe_count,
    trained_centroids,
    unit_vectors,
)
from paimon_core.spec.encodings.varints import decode_varints, put_varints, varint_sizes

_START = struct.Struct("<4sIiiIqI32x")
_LIST_HEAD = struct.Struct("<qi")
_MAGIC, _VERSION, _FLAGS = b"LFVI", 1, 1
_BLOCK_BYTES = 16 * 2**20  # of vectors in memory at a time
Ids = NDArray[np.int64]


class IvfFlatFile:
    """An `ivf-flat` file with vectors of some of the rows 0 to `rows - 1`. Implements `VectorIndexFile`."""

    def __init__(self, path: str, head: VectorIndexHead, rows: int, fetch: Fetch) -> None:
        self._path, self.head, self._rows, self._fetch = path, head, rows, fetch

    def nearest(
        self, query: Floats, limit: int, width: int | None, allowed: NDArray[np.bool_] | None
    ) -> tuple[Ids, Floats]:
        head, lists = self.head, len(self.head.table)
        near = unit_vectors(query[None])[0] if head.metric == "cosine" else query
        wanted = head.count if allowed is None else int(allowed.sum())
        least = probe_count(lists, head.count, limit, wanted) if width is None else width
        best, scores = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        for place, chosen in enumerate(by_distance(self._centroids(), near).tolist() if wanted else ()):
            if place >= least and len(best) >= min(limit, wanted):
                break
            for ids, vectors in self._list(chosen):
                if allowed is not None:
                    kept = allowed[ids]
                    ids, vectors = ids[kept], vectors[kept]
                best, scores = np.append(best, ids), np.append(scores, scores_of(vectors, query, head.metric))
                order = largest(scores, limit)
                best, scores = best[order], scores[order]
        return best, scores

    def _centroids(self) -> Floats:
        data = read_part(self._path, self._fetch, BlockHandle(HEADER_SIZE, self.head.table_offset - HEADER_SIZE))
        return np.frombuffer(data, dtype="<f4").reshape(-1, self.head.length)

    def _list(self, number: int) -> Iterator[tuple[Ids, Floats]]:
        """Yield blocks of the ids and vectors of a list."""
        offset, count, id_bytes = (int(n) for n in self.head.table[number])
        start, width = offset + _LIST_HEAD.size + id_bytes, self.head.length * 4
        step = max(1, _BLOCK_BYTES // width)
        ids = np.zeros(0, dtype=np.int64)
        for first in range(0, count, step):
            low = start + first * width if first else offset
            high = start + min(first + step, count) * width
            data = read_part(self._path, self._fetch, BlockHandle(low, high - low))
            if not first:
                ids, data = self._ids(number, data[: start - offset], count), data[start - offset :]
            vectors = np.frombuffer(data, dtype="<f4").reshape(-1, self.head.length)
            yield ids[first : first + step], vectors

    def _ids(self, number: int, data: bytes, count: int) -> Ids:
        base, id_bytes = _LIST_HEAD.unpack_from(data)
        try:
            deltas = decode_varints(np.frombuffer(data, dtype=np.uint8, offset=_LIST_HEAD.size))
        except ValueError as e:
            raise damaged(self._path, f"the ids of list {number} do not decode ({e})") from e
        fits = len(deltas) == count and id_bytes == len(data) - _LIST_HEAD.size and 0 <= base < self._rows
        ids: Ids = base + np.cumsum(deltas)
        if not fits or deltas.max() > self._rows or ids[-1] >= self._rows or (deltas[1:] < 1).any():
            raise damaged(self._path, f"list {number} does not have {count} ascending ids of the {self._rows} rows")
        return ids


def encode_ivf_flat(vectors: Floats, rows: Ids, metric: str, lists: int | None) -> bytes:
    """Return the bytes of a file with vectors and their rows, which ascend.

    With `lists` = None, the function chooses their number."""
    stored = unit_vectors(vectors) if metric == "cosine" else vectors
    count = min(lists or list_count(len(stored)), len(stored))
    centroids = trained_centroids(stored, count)
    codes = nearest_lists(stored, centroids)
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=count)
    ends = np.cumsum(sizes)
    ids, starts = rows[order], ends - sizes
    deltas = np.diff(ids, prepend=0)
    deltas[starts[sizes > 0]] = 0
    widths = varint_sizes(deltas)
    encoded = np.zeros(int(widths.sum()), dtype=np.uint8)
    put_varints(encoded, np.cumsum(widths) - widths, deltas)
    id_bytes = np.bincount(codes[order], weights=widths, minlength=count).astype(np.int64)
    list_bytes = np.where(sizes > 0, _LIST_HEAD.size + id_bytes + sizes * stored.shape[1] * 4, 0)
    table = np.zeros(count, dtype=TABLE)
    first = HEADER_SIZE + centroids.nbytes + table.nbytes
    table["offset"], table["count"], table["id_bytes"] = first + np.cumsum(list_bytes) - list_bytes, sizes, id_bytes
    code = CODED_METRICS.index(metric)
    parts = [_START.pack(_MAGIC, _VERSION, stored.shape[1], count, code, len(stored), _FLAGS)]
    parts += [centroids.astype("<f4").tobytes(), table.tobytes()]
    id_ends = np.cumsum(id_bytes)
    for number in np.flatnonzero(sizes).tolist():
        own = encoded[id_ends[number] - id_bytes[number] : id_ends[number]].tobytes()
        parts += [_LIST_HEAD.pack(int(ids[starts[number]]), len(own)), own]
        parts.append(stored[order[starts[number] : ends[number]]].astype("<f4").tobytes())
    return b"".join(parts)
