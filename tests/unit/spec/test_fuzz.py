"""Damaged metadata files: they decode, or the error is one of ours, and soon."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import PaimonError, UnreadableFileError, UnsupportedFeatureError
from paimon_core.indexes.deletion_vector import MAGIC_64, decode_vector, decode_vectors, encode_vector, encode_vectors
from paimon_core.spec.index_manifest import DeletionVectorMeta
from paimon_core.spec.schema import decode_schema, encode_schema
from paimon_core.spec.snapshot import decode_snapshot, encode_snapshot
from paimon_core.spec.statistics import decode_statistics, encode_statistics
from paimon_core.spec.tag import decode_tag, encode_tag
from paimon_core.store.consumers import decode_consumer, encode_consumer
from paimon_core.write.buckets.dynamic import decode_hashes, encode_hashes
from tests.support.damage import POSITIONS, damaged, replace
from tests.support.examples import examples
from tests.support.golden_files import manifest_files, manifest_list_files, manifest_lists, manifests, metadata_files
from tests.support.manifests import (
    decode_index_manifest,
    decode_manifest,
    decode_manifest_list,
    encode_index_manifest,
    encode_manifest,
    encode_manifest_list,
)

PATH = "db.db/t/manifest/fuzzed"
MEMORY = 64 * 2**20


def samples(files: Sequence[Path]) -> st.SearchStrategy[bytes]:
    return st.sampled_from(files).map(Path.read_bytes)


def plain_manifests() -> st.SearchStrategy[bytes]:
    """Manifests that are not compressed: what is changed in them is what the records say."""
    small = [m for m in manifests().values() if len(m) < 20]
    return st.sampled_from(small).map(lambda entries: encode_manifest(entries, "null"))


def plain_lists() -> st.SearchStrategy[bytes]:
    return st.sampled_from(list(manifest_lists().values())).map(lambda metas: encode_manifest_list(metas, "null"))


BITMAPS = [encode_vector(np.arange(0, 3 * n, 1 + n % 3), bitmap64=n % 2 == 0)[4:-4] for n in (1, 2, 500, 5000)]


def vector_of(bitmap: bytes) -> tuple[bytes, DeletionVectorMeta, int]:
    """A vector with this bitmap, whose length and checksum are right."""
    data = len(bitmap).to_bytes(4, "big") + bitmap + zlib.crc32(bitmap).to_bytes(4, "big")
    length = len(data) if bitmap[:4] == MAGIC_64 else len(bitmap)
    return data, DeletionVectorMeta(data_file="data-1.parquet", offset=1, length=length), 20_000


VECTORS = [
    encode_vectors(
        {f"data-{n}.parquet": np.arange(0, 5 * n, 2 + n % 3) for n in (1, 9, 700)}, bitmap64=is_64, target_size=2**20
    )[0]
    for is_64 in (False, True)
]


def decode_vector_file(data: bytes) -> None:
    """By what the metadata of either file says."""
    for _, metas in VECTORS:
        decode_vectors(PATH, data, metas)


DECODERS: dict[str, tuple[Callable[[], st.SearchStrategy[bytes]], Callable[[bytes], Any]]] = {
    "snapshot": (  # and the long-lived changelog, which is one
        lambda: samples(metadata_files("*/snapshot/snapshot-*")),
        lambda data: encode_snapshot(decode_snapshot(PATH, data)),
    ),
    "schema": (
        lambda: samples(metadata_files("*/schema/schema-*")),
        lambda data: encode_schema(decode_schema(PATH, data)),
    ),
    "manifest list": (
        lambda: samples(manifest_list_files()),
        lambda data: encode_manifest_list(decode_manifest_list(PATH, data)),
    ),
    "manifest": (lambda: samples(manifest_files()), lambda data: encode_manifest(decode_manifest(PATH, data))),
    "index manifest": (
        lambda: samples(metadata_files("*/manifest/index-manifest-*")),
        lambda data: encode_index_manifest(decode_index_manifest(PATH, data)),
    ),
    "tag": (lambda: samples(metadata_files("*/tag/tag-*")), lambda data: encode_tag(decode_tag(PATH, data, "t"))),
    "consumer": (lambda: st.just(encode_consumer(12)), lambda data: encode_consumer(decode_consumer(PATH, data))),
    "statistics": (
        lambda: samples(metadata_files("*/statistics/stat*")),
        lambda data: encode_statistics(decode_statistics(PATH, data)),
    ),
    "hash index": (
        lambda: st.just(encode_hashes(np.arange(-5, 5, dtype=np.int32))),
        lambda data: encode_hashes(decode_hashes(PATH, data, 10)),
    ),
    "deletion vector": (lambda: st.sampled_from(BITMAPS), lambda data: decode_vector(PATH, *vector_of(data))),
    "deletion vector file": (lambda: st.sampled_from([data for data, _ in VECTORS]), decode_vector_file),
    "plain manifest list": (plain_lists, lambda data: encode_manifest_list(decode_manifest_list(PATH, data))),
    "plain manifest": (plain_manifests, lambda data: encode_manifest(decode_manifest(PATH, data))),
}


@pytest.mark.parametrize("kind", DECODERS)
@settings(deadline=timedelta(seconds=30), max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_files_are_named(kind: str, data: st.DataObject) -> None:
    originals, round_trip = DECODERS[kind]
    try:
        round_trip(data.draw(damaged(originals())))  # what decodes is of the right types, or it could not be encoded
    except (UnreadableFileError, UnsupportedFeatureError) as e:
        assert PATH in str(e)


@pytest.mark.parametrize("kind", ["plain manifest", "plain manifest list"])
@settings(max_examples=examples(50))
@given(st.data())
def test_damaged_lengths_take_no_memory(kind: str, data: st.DataObject) -> None:
    originals, round_trip = DECODERS[kind]
    content = bytearray(data.draw(originals()))
    long = data.draw(st.sampled_from((b"\xfe\xff\xff\xff\x1f", b"\x80" * 5 + b"\x40", b"\xfe" + b"\xff" * 8 + b"\x01")))
    replace(data.draw(POSITIONS), 1, long)(content)
    tracemalloc.start()
    try:
        round_trip(bytes(content))
    except PaimonError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < MEMORY
