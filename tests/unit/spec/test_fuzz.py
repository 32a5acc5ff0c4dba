"""Metadata files with bytes flipped, swapped, cut out or put in: they decode, or the error is one of ours, and soon."""

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

from paimon_core.errors import CorruptFileError, PaimonError, UnsupportedFeatureError
from paimon_core.spec.deletion_vector import MAGIC_64, decode_vector, encode_vector
from paimon_core.spec.index_manifest import DeletionVectorMeta, decode_index_manifest, encode_index_manifest
from paimon_core.spec.manifest import decode_manifest, decode_manifest_list, encode_manifest, encode_manifest_list
from paimon_core.spec.schema import decode_schema, encode_schema
from paimon_core.spec.snapshot import decode_snapshot, encode_snapshot
from tests.unit.spec.golden_files import manifest_files, manifest_list_files, manifest_lists, manifests, metadata_files

PATH = "db.db/t/manifest/fuzzed"
MEMORY = 64 * 2**20
Change = Callable[[bytearray], None]


def _at(data: bytearray, position: int) -> int:
    return position % max(1, len(data))


def flip(position: int, mask: int) -> Change:
    def change(data: bytearray) -> None:
        if data:
            data[_at(data, position)] ^= mask

    return change


def swap(one: int, other: int) -> Change:
    def change(data: bytearray) -> None:
        if data:
            a, b = _at(data, one), _at(data, other)
            data[a], data[b] = data[b], data[a]

    return change


def replace(position: int, length: int, new: bytes) -> Change:
    def change(data: bytearray) -> None:
        start = _at(data, position)
        data[start : start + length] = new

    return change


POSITIONS = st.integers(0, 2**20)
HOSTILE = st.sampled_from((b"", b"\xff" * 9 + b"\x01", b"\0", b"[" * 50, b'"', b"{", b"1e999", b"null", b"\x80" * 3))
CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(flip, POSITIONS, st.integers(1, 255)),
    st.builds(swap, POSITIONS, POSITIONS),
    st.builds(replace, POSITIONS, st.integers(0, 40), HOSTILE | st.binary(max_size=20)),
    st.builds(replace, POSITIONS, st.just(2**20), st.just(b"")),  # cut off
)


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


DECODERS: dict[str, tuple[Callable[[], st.SearchStrategy[bytes]], Callable[[bytes], Any]]] = {
    "snapshot": (
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
    "deletion vector": (lambda: st.sampled_from(BITMAPS), lambda data: decode_vector(PATH, *vector_of(data))),
    "plain manifest list": (plain_lists, lambda data: encode_manifest_list(decode_manifest_list(PATH, data))),
    "plain manifest": (plain_manifests, lambda data: encode_manifest(decode_manifest(PATH, data))),
}


@pytest.mark.parametrize("kind", DECODERS)
@settings(deadline=timedelta(seconds=2), max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_files_are_named(kind: str, data: st.DataObject) -> None:
    originals, round_trip = DECODERS[kind]
    damaged = bytearray(data.draw(originals()))
    for change in data.draw(st.lists(CHANGES, min_size=1, max_size=4)):
        change(damaged)
    try:
        round_trip(bytes(damaged))  # what decodes is of the right types, or it could not be encoded
    except (CorruptFileError, UnsupportedFeatureError) as e:
        assert PATH in str(e)


@pytest.mark.parametrize("kind", ["plain manifest", "plain manifest list"])
@settings(deadline=None, max_examples=50)
@given(st.data())
def test_damaged_lengths_take_no_memory(kind: str, data: st.DataObject) -> None:
    originals, round_trip = DECODERS[kind]
    damaged = bytearray(data.draw(originals()))
    long = data.draw(st.sampled_from((b"\xfe\xff\xff\xff\x1f", b"\x80" * 5 + b"\x40", b"\xfe" + b"\xff" * 8 + b"\x01")))
    replace(data.draw(POSITIONS), 1, long)(damaged)
    tracemalloc.start()
    try:
        round_trip(bytes(damaged))
    except PaimonError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < MEMORY
