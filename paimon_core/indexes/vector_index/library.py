"""Vector indexes by the library `paimon-vindex`, which Paimon's Java connector uses, too: `ivf-pq`, `ivf-sq`, `ivf-rq`
and `diskann`. `layout` checks the bounds in a file before native code reads it."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap64

from paimon_core.arrow.nearest import Floats, scores_of_distances
from paimon_core.errors import InvalidOptionError
from paimon_core.indexes.global_index.block_codecs import Fetch
from paimon_core.indexes.global_index.blocks import damaged
from paimon_core.indexes.vector_index.layout import DISKANN, VectorIndexHead
from paimon_core.optional_packages import import_optional

_ADDED = 10_000  # vectors at a time


def vector_library(kind: str) -> Any:
    """Return the library. Raises `UnsupportedFeatureError` if it is not installed."""
    return import_optional("paimon_vindex", f"A vector index of type {kind}", "vectors")


def encode_by_library(kind: str, options: Mapping[str, str], vectors: Floats, rows: NDArray[np.int64]) -> bytes:
    """Return the bytes of an index of vectors and their rows. Raises `InvalidOptionError` for options that do not fit,
    `UnsupportedFeatureError` if the library is not installed."""
    found = vector_library(kind)
    given = {"index.type": kind.replace("-", "_"), "dimension": str(vectors.shape[1]), **options}
    share = math.ceil(float(given.pop("train.sample-ratio", "1")) * len(vectors))
    if kind != DISKANN and given.get("nlist", "auto") == "auto":
        given["expected-vector-count"] = str(len(vectors))
    sample, file = vectors[np.arange(share, dtype=np.int64) * len(vectors) // share], io.BytesIO()
    try:
        with found.VectorIndexTrainer.train(given, sample) as training, found.VectorIndexWriter(training) as writer:
            for start in range(0, len(rows), _ADDED):
                writer.add_vectors(rows[start : start + _ADDED], vectors[start : start + _ADDED])
            writer.write(file)
    except (RuntimeError, ValueError) as e:
        shown = ", ".join(f"{k} = {v}" for k, v in sorted(options.items()))
        raise InvalidOptionError(f"An index of type {kind} with {shown} cannot be made: {e}.") from e
    return file.getvalue()


class LibraryFile:
    """An index file that the library searches. Implements `VectorIndexFile`, and the input of the library. Raises
    `UnsupportedFeatureError` if the library is not installed.
    """

    def __init__(self, path: str, kind: str, head: VectorIndexHead, rows: int, fetch: Fetch) -> None:
        self._path, self._kind, self.head, self._rows, self._fetch = path, kind, head, rows, fetch
        self._failed: Exception | None = None

    def nearest(
        self, query: Floats, limit: int, width: int | None, allowed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], Floats]:
        found = vector_library(self._kind)
        wanted = self.head.count if allowed is None else int(allowed.sum())
        count = min(limit, wanted)
        if not count:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        params = found.SearchParams.automatic(top_k=count)
        if width is not None:
            sized = found.SearchParams.diskann if self._kind == DISKANN else found.SearchParams.ivf
            params = sized(count, max(width, count if self._kind == DISKANN else 1))
        chosen = None if allowed is None else BitMap64(np.flatnonzero(allowed)).serialize()
        try:
            with found.VectorIndexReader(self) as reader:
                ids, distances = reader.search(query, params, filter_bytes=chosen)
        except (RuntimeError, ValueError) as e:
            if self._failed is not None:
                raise self._failed from e
            raise damaged(self._path, f"the library cannot search it ({e})") from e
        there = ids >= 0
        if (ids >= self._rows).any():
            raise damaged(self._path, "it has other rows than its manifest entry")
        return ids[there], scores_of_distances(distances[there], self.head.metric)

    def pread_many(self, ranges: Iterable[tuple[int, int]]) -> list[bytes]:
        """Read ranges of bytes for the library. Store an error of reading, because the library raises another one
        instead.
        """
        try:
            return [self._fetch(offset, size) for offset, size in ranges]
        except Exception as e:
            self._failed = e
            raise
