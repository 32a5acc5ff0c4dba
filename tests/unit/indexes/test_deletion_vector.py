from __future__ import annotations

import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.errors import (
    CorruptFileError,
    InvalidDataError,
    UnfamiliarFormError,
    UnreadableFileError,
    UnsupportedVersionError,
)
from paimon_core.indexes.deletion_vector import decode_vector, decode_vectors, encode_vector, encode_vectors
from paimon_core.spec.index_manifest import DeletionVectorMeta
from tests.support.golden_files import metadata_files
from tests.support.manifests import decode_index_manifest

META = DeletionVectorMeta(data_file="data-1.parquet", offset=1, length=22, cardinality=1)
positions_32 = st.sets(st.integers(0, 2**31 - 1), min_size=1, max_size=50)
positions_64 = st.sets(st.integers(0, 2**40), min_size=1, max_size=50)


def ascending(positions: set[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(sorted(positions), dtype=np.int64)


def test_golden_files_to_the_byte() -> None:
    checked = 0
    for path in metadata_files("*/manifest/index-manifest-*"):
        for entry in decode_index_manifest(str(path), path.read_bytes()):
            file = path.parent.parent / "index" / entry.file.file_name
            if entry.file.dv_ranges and file.exists():
                data = file.read_bytes()
                vectors = decode_vectors(str(file), data, entry.file.dv_ranges)
                assert [v.cardinality for v in entry.file.dv_ranges] == [len(p) for p in vectors.values()]
                assert encode_vectors(vectors, bitmap64=False, target_size=2**30) == [(data, entry.file.dv_ranges)]
                checked += 1
    assert checked > 15


def test_one_position_of_32_and_of_64_bits() -> None:
    short, long = encode_vector(np.array([5]), bitmap64=False), encode_vector(np.array([5]), bitmap64=True)
    bitmap = bytes.fromhex("3a300000 01000000 0000 0000 10000000 0500")
    body = (1581511376).to_bytes(4, "big") + bitmap
    assert short == len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    body = (1681511377).to_bytes(4, "little") + (1).to_bytes(8, "little") + bytes(4) + bitmap
    assert long == len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


def test_a_file_of_64_bits_to_the_byte() -> None:
    """What Java's connector wrote for rows deleted of two files, `deletion-vectors.bitmap64`."""
    data = bytes.fromhex(
        "01"
        "0000001f d1d33964 0100000000000000 00000000 3b300000010000070001000200070077051d40"
        "00000036 d1d33964 0100000000000000 00000000"
        "3a30000002000000000004000100010018000000220000000100 05000a000b000c000000 6f11 af3e5ed4"
    )
    first, second = list(range(2, 10)), [1, 5, 10, 11, 12, 65536, 69999]
    metas = (
        DeletionVectorMeta(data_file="a", offset=1, length=39, cardinality=8),
        DeletionVectorMeta(data_file="b", offset=40, length=62, cardinality=7),
    )
    found = decode_vectors("f", data, metas)
    assert {name: rows.tolist() for name, rows in found.items()} == {"a": first, "b": second}
    assert encode_vectors(found, bitmap64=True, target_size=2**30) == [(data, metas)]


@given(st.lists(positions_32, min_size=1, max_size=5), st.booleans(), st.integers(1, 400))
def test_files_both_ways(sets: list[set[int]], bitmap64: bool, target: int) -> None:
    vectors = {f"data-{i}": ascending(s) for i, s in enumerate(sets)}
    files = encode_vectors(vectors, bitmap64=bitmap64, target_size=target)
    found = [(data, metas, decode_vectors("p", data, metas)) for data, metas in files]
    assert {n: p.tolist() for _, _, f in found for n, p in f.items()} == {n: p.tolist() for n, p in vectors.items()}
    assert all(len(data) > target for data, _, _ in found[:-1])
    for data, metas, _ in found:
        for meta in metas:  # what length counts differs
            assert meta.length == int.from_bytes(data[meta.offset : meta.offset + 4], "big") + (8 if bitmap64 else 0)


@given(positions_64)
def test_far_positions_need_64_bits(positions: set[int]) -> None:
    ((data, (meta,)),) = encode_vectors({"f": ascending(positions)}, bitmap64=True, target_size=9)
    assert decode_vector("p", data[1:], meta, 2**41).tolist() == sorted(positions)
    if max(positions) >= 2**31:
        with pytest.raises(InvalidDataError, match=r"deletion-vectors\.bitmap64"):
            encode_vector(ascending(positions), bitmap64=False)
        with pytest.raises(CorruptFileError, match="the data file has 2147483648 rows"):
            decode_vector("p", data[1:], meta)


def test_damage_is_named() -> None:
    data = encode_vector(np.array([5]), bitmap64=False)
    assert decode_vector("p", data, META, 6).tolist() == [5]
    for broken, meta, rows, problem in [
        (data, META, 5, "deletes row 5, but the data file has 5 rows"),
        (data, replace(META, cardinality=2), 6, "has 1 positions, but metadata lists 2"),
        (data, replace(META, length=23), 6, "claims 22 bytes, but metadata lists 23"),
        (data[:-1], META, 6, "claims 22 bytes"),
        (b"", META, 6, "claims 0 bytes"),
        (data[:-5] + b"\1" + data[-4:], META, 6, "does not match its checksum"),
    ]:
        with pytest.raises(CorruptFileError, match=f"^File p is corrupt: .*data-1.parquet at byte 1 {problem}"):
            decode_vector("p", broken, meta, rows)
    for body, error, problem in [
        (b"\0" * 22, UnfamiliarFormError, "is whole, but begins with unknown bytes: 00000000"),
        (data[4:8] + b"\xff" * 18, CorruptFileError, "does not contain a bitmap"),
    ]:
        checked = (22).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
        with pytest.raises(error, match=problem):
            decode_vector("p", checked, META, 6)
    with pytest.raises(UnsupportedVersionError, match="version 02"):
        decode_vectors("p", b"\2" + data, [META])
    with pytest.raises(CorruptFileError, match="22 bytes in metadata"):
        decode_vectors("p", b"\1" + data, [replace(META, offset=-3)])


def changed_bitmaps(bitmap64: bool) -> Iterator[bytes]:
    """Vectors of containers of each kind whose bitmap has one bit changed, under a checksum that is right."""
    kinds = [range(0, 280, 2), range(0, 200_000, 3), [*range(100, 5000), 70_000]]
    for rows in kinds:
        whole = encode_vector(np.array(rows), bitmap64=bitmap64)
        for position in range(8, min(len(whole) - 4, 70)):
            for bit in range(8):
                body = bytearray(whole[4:-4])
                body[position - 4] ^= 1 << bit
                yield len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


@pytest.mark.parametrize("bitmap64", [False, True])
def test_bitmaps_that_contradict_themselves(bitmap64: bool) -> None:
    """Counts, keys and offsets that lie are refused: what comes back is a set, in order, each row once."""
    refused = 0
    for data in changed_bitmaps(bitmap64):
        meta = replace(META, length=len(data) - (0 if bitmap64 else 8), cardinality=None)
        try:
            found = decode_vector("f", data, meta)
        except UnreadableFileError:
            refused += 1
        else:
            assert (np.diff(found) > 0).all()
            with pytest.raises(CorruptFileError, match="metadata lists"):
                decode_vector("f", data, replace(meta, cardinality=len(found) + 1))
    assert refused > 300


def test_the_bitmap_library_validates() -> None:
    """Before 1.0.1 it takes any bytes for a bitmap, and may crash; before 1.0.2 keys of 64 bits in disorder."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    (least,) = (d.partition(">=")[2] for d in project["dependencies"] if d.startswith("pyroaring"))
    assert tuple(map(int, least.split("."))) >= (1, 0, 2)
