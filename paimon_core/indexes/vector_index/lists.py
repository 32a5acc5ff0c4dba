"""The lists of an inverted file: vectors are divided among centroids, each vector goes to the nearest one.

Source: apache/paimon-vector-index, `autotune.rs` (numbers of lists, of training vectors, and of lists to search).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from paimon_core.arrow.nearest import Floats

_LEAST_TRAINING, _TRAINING_PER_LIST = 65_536, 64
_LEAST_PROBES, _PROBED_SHARE, _CANDIDATES = 8, 16, 4  # lists; one of so many lists; vectors per row of the result
_ROUNDS = 10
_BLOCK = 2**24  # products of vectors and centroids at a time


def list_count(vectors: int) -> int:
    """Return the number of lists for so many vectors: the power of two nearest to the square root."""
    root = math.sqrt(max(vectors, 1))
    lower = 1 << (int(root).bit_length() - 1)
    nearest = lower if root - lower <= 2 * lower - root else 2 * lower
    most = max(vectors // _TRAINING_PER_LIST, 1)
    return min(nearest, 1 << (most.bit_length() - 1))


def probe_count(lists: int, vectors: int, limit: int, wanted: int) -> int:
    """Return how many lists to search for `limit` vectors. Of the `vectors` in the lists, only `wanted` satisfy the
    filters of the search.
    """
    if not wanted:
        return 0
    per_list = max(1, -(-vectors // lists))
    probes = max(_LEAST_PROBES, -(-lists // _PROBED_SHARE), -(-limit * _CANDIDATES // per_list))
    return min(lists, max(1, -(-probes * vectors // wanted)))


def trained_centroids(vectors: Floats, lists: int) -> Floats:
    """Return the centroids of `lists` groups of vectors that are near to each other, by k-means."""
    training = _sampled(vectors, max(_LEAST_TRAINING, lists * _TRAINING_PER_LIST))
    centroids = _sampled(training, lists)
    for _ in range(_ROUNDS if lists > 1 else 1):
        codes = nearest_lists(training, centroids)
        counts = np.bincount(codes, minlength=lists)
        order = np.argsort(codes, kind="stable")
        starts = np.append(0, np.cumsum(counts)[:-1])
        filled = counts > 0
        sums = np.add.reduceat(training[order], starts[filled], axis=0, dtype=np.float64)
        moved = centroids.copy()
        moved[filled] = (sums / counts[filled, None]).astype(np.float32)
        if np.array_equal(moved, centroids):
            break
        centroids = moved
    return centroids


def nearest_lists(vectors: Floats, centroids: Floats) -> NDArray[np.int64]:
    """Return the number of the centroid that is nearest to each vector."""
    squares = np.einsum("ij,ij->i", centroids, centroids)
    step = max(1, _BLOCK // len(centroids))
    parts = [
        np.argmin(squares - 2 * (vectors[start : start + step] @ centroids.T), axis=1)
        for start in range(0, len(vectors), step)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def by_distance(centroids: Floats, vector: Floats) -> NDArray[np.int64]:
    """Return the numbers of the centroids, the nearest to the vector first."""
    with np.errstate(over="ignore", invalid="ignore"):
        apart = centroids - vector
        return np.argsort(np.einsum("ij,ij->i", apart, apart), kind="stable")


def unit_vectors(vectors: Floats) -> Floats:
    """Return the vectors with the length 1. Vectors of zeros stay as they are."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    units: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units


def _sampled(vectors: Floats, count: int) -> Floats:
    """Return `count` vectors from all parts of the whole, or all vectors if there are fewer."""
    if len(vectors) <= count:
        return vectors
    return vectors[np.arange(count, dtype=np.int64) * len(vectors) // count]
