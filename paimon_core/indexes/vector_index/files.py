"""The files of vector indexes by their type: how to search and how to make them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from paimon_core.arrow.nearest import Floats
from paimon_core.indexes.global_index.block_codecs import Fetch
from paimon_core.indexes.vector_index.ivf_flat import IvfFlatFile, encode_ivf_flat
from paimon_core.indexes.vector_index.layout import IVF_FLAT, VectorIndexHead, decode_vector_head
from paimon_core.indexes.vector_index.library import LibraryFile, encode_by_library


class VectorIndexFile(Protocol):
    """A file of a vector index. Methods raise `CorruptFileError`, and the errors of reading."""

    head: VectorIndexHead

    def nearest(
        self, query: Floats, limit: int, width: int | None, allowed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the rows of the `limit` nearest vectors among the `allowed` rows (None: all rows), and their scores.

        `width` is the number of lists to search, or of candidates for `diskann`; None for a number that is likely to
        find the nearest vectors.
        """


def open_vector_index(path: str, kind: str, size: int, rows: int, fetch: Fetch) -> VectorIndexFile:
    """Open an index file of `size` bytes for `rows` rows.

    Raises `CorruptFileError`, `UnfamiliarFormError`, and the errors of reading."""
    head = decode_vector_head(path, kind, size, rows, fetch)
    if kind == IVF_FLAT:
        return IvfFlatFile(path, head, rows, fetch)
    return LibraryFile(path, kind, head, rows, fetch)


def encode_vector_index(
    kind: str, metric: str, options: Mapping[str, str], vectors: Floats, rows: NDArray[np.int64]
) -> bytes:
    """Return the bytes of an index of vectors and their rows, which ascend.

    Raises `InvalidOptionError`, `UnsupportedFeatureError` as `encode_by_library`."""
    if kind == IVF_FLAT:
        lists = options.get("nlist", "auto")
        return encode_ivf_flat(vectors, rows, metric, None if lists == "auto" else int(lists))
    return encode_by_library(kind, {**options, "metric": metric}, vectors, rows)
