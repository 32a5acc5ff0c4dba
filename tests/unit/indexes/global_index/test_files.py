"""Files of global indexes byte for byte: as Java writes them, of any keys, damaged ones."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.errors import (
    CorruptFileError,
    UnfamiliarFormError,
    UnreadableFileError,
    UnsupportedFeatureError,
    UnsupportedVersionError,
)
from paimon_core.indexes.file_index.column_index import End
from paimon_core.indexes.file_index.keys import ByteKeys
from paimon_core.indexes.global_index import bitmap, btree
from paimon_core.indexes.global_index.block_codecs import compression, read_block
from paimon_core.indexes.global_index.blocks import BlockHandle, Codec, seal, unseal
from paimon_core.indexes.global_index.bloom_filter import KeyFilter, filter_of
from paimon_core.indexes.global_index.file_meta import SortedFileMeta, decode_file_meta, encode_file_meta
from paimon_core.indexes.global_index.grouped_rows import GroupedRows
from paimon_core.indexes.global_index.keys import KeyFormat
from paimon_core.indexes.global_index.reader import GLOBAL_INDEX_FILES, GlobalIndexFile
from paimon_core.spec.types import BIGINT, DOUBLE, STRING, DataType, DecimalType, Kind, TimeType
from tests.support.damage import damaged
from tests.support.examples import examples

# Java 2.0.0, of 42 rows: a BIGINT column of `id % 13 - 6`, blocks of 64 bytes; a CHAR(4) column of
# `concat('c', id % 3)`; rows 40 and 41 are NULL
JAVA_BTREE = bytes.fromhex(
    "08faffffffffffffff05040d1a270008fbffffffffffffff04030e1b0108fcffffffffffffff0403020f1c08fdffffffffffffff040303101d"
    "000000000f0000001d0000002b0000000400000001002ec2c14d08feffffffffffffff040304111e08ffffffffffffffff040305121f080000"
    "0000000000000403061320080100000000000000040307142108020000000000000004030815220e000000000036bbfb970803000000000000"
    "00040309162308040000000000000004030a172408050000000000000004030b182508060000000000000004030c19260e0000000000e326b5"
    "710100000000000000000000003a30000001000000000001001000000028002900b795e86c08fdffffffffffffff02004e0802000000000000"
    "0002534b08060000000000000003a3013d000000000c00000018000000030000000100ab0b5486000000000000000000000000000000000000"
    "0000090100000000000036000000e500000000000000200000000100000049544250"
)
JAVA_BITMAP = bytes.fromhex(
    "0100000000000000000000003a3000000100000000000d001000000000000300060009000c000f001200150018001b001e0021002400270001"
    "00000000000000000000003a3000000100000000000c00100000000100040007000a000d0010001300160019001c001f002200250001000000"
    "00000000000000003a3000000100000000000c00100000000200050008000b000e001100140017001a001d0020002300260003046330202000"
    "380463312020383604633220206e3600d456ad860100000000000000000000003a300000010000000000010010000000280029000100000000"
    "000000000000003b3000000100002700010000002700010463302020a4011600ce2b9dbe00000000000000bf0000002000000000000000df00"
    "00001b00000000000000fa00000009000000030000000142474958"
)
NULLS = np.array([40, 41])


def by_value(values: Sequence[int]) -> GroupedRows:
    """Rows by their value, rows 40 and 41 are NULL."""
    keys, codes = np.unique(values, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(codes)))
    stored = ByteKeys.of([int(k).to_bytes(8, "little", signed=True) for k in keys])
    return GroupedRows(stored, starts, order, NULLS)


def plain(content: bytes) -> tuple[Codec, bytes]:
    return Codec.NONE, content


def test_java_writes_the_same() -> None:
    numbers = by_value([i % 13 - 6 for i in range(40)])
    found = [btree.rows_of("f", b, i, i + 1) for b in blocks_of(JAVA_BTREE)[0] for i in range(len(b))]
    assert [np.sort(r).tolist() for r in found] == [r.tolist() for r in np.split(numbers.rows, numbers.starts[1:-1])]
    in_their_order = replace(numbers, rows=np.concatenate(found))  # that of Spark's sort
    assert btree.encode_btree(in_their_order, 64, plain) == JAVA_BTREE
    rows = by_value([i % 3 for i in range(40)])
    texts = GroupedRows(ByteKeys.of([b"c0  ", b"c1  ", b"c2  "]), rows.starts, rows.rows, NULLS)
    assert bitmap.encode_bitmap_index(texts, 2**14, plain) == JAVA_BITMAP


def expected_blocks(keys: Sequence[bytes], counts: Sequence[int], block_size: int) -> list[int]:
    """Entries per data block, one entry after the other as Java adds them; rows and counts take a byte each."""
    blocks, sizes = [], list[int]()
    for key, count in zip(keys, counts, strict=True):
        sizes.append(1 + len(key) + 1 + 1 + count)
        if sum(sizes) + 5 + (4 * len(sizes) if len(set(sizes)) > 1 else 0) > block_size:
            blocks.append(len(sizes))
            sizes = []
    return [*blocks, len(sizes)] if sizes else blocks


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.binary(max_size=3), st.integers(1, 3)), max_size=40), st.integers(1, 80), st.data())
def test_a_btree_has_blocks_of_its_size(entries: list[tuple[bytes, int]], block_size: int, data: st.DataObject) -> None:
    counted = sorted(dict(entries).items())
    keys, counts = [k for k, _ in counted], [n for _, n in counted]
    rows = np.arange(sum(counts))
    nulls = np.arange(len(rows), len(rows) + data.draw(st.integers(0, 2)))
    codec = data.draw(st.sampled_from(["none", "zstd", "lz4"]))
    starts = np.append(0, np.cumsum(counts)).astype(np.int64)
    grouped = GroupedRows(ByteKeys.of(keys), starts, rows, nulls)
    content = btree.encode_btree(grouped, block_size, compression("o", codec, 1))
    found, index = blocks_of(content)
    assert [len(b) for b in found] == expected_blocks(keys, counts, block_size)
    assert [b.key(i) for b in found for i in range(len(b))] == keys
    assert [index.key(i) for i in range(len(index))] == [b.key(len(b) - 1) for b in found]
    assert [r for b in found for r in btree.rows_of("f", b, 0, len(b)).tolist()] == rows.tolist()
    file = open_file("btree", content, KeyFormat.of(STRING))
    assert list(file.values()) == rows.tolist()
    assert list(file.nulls()) == nulls.tolist()


def blocks_of(content: bytes) -> tuple[list[btree.BlockEntries], btree.BlockEntries]:
    def fetch(start: int, size: int) -> bytes:
        return content[start : start + size]

    footer = btree.decode_footer("f", content[-btree.FOOTER_SIZE :])
    index = btree.decode_entries("f", read_block("f", fetch, footer.index))
    handles = btree.decode_handles("f", index)
    return [btree.decode_entries("f", read_block("f", fetch, p)) for p in handles], index


def open_file(kind: str, content: bytes, key_format: KeyFormat | None):
    assert key_format is not None
    return GLOBAL_INDEX_FILES[kind]("f", len(content), key_format, lambda start, size: content[start : start + size])


@pytest.mark.parametrize(
    ("kind", "original", "key_format", "key"),
    [("btree", JAVA_BTREE, KeyFormat.of(BIGINT), -3), ("bitmap", JAVA_BITMAP, KeyFormat.of(STRING), b"c1  ")],
)
def test_damage_is_refused(kind: str, original: bytes, key_format: KeyFormat, key: int | bytes) -> None:
    file = open_file(kind, original, key_format)
    rows = [list(file.between(End(key), End(key))), list(file.values()), list(file.nulls())]
    assert rows[1:] == [list(range(40)), [40, 41]]
    assert rows[0][:2] in ([3, 16], [1, 4])

    @settings(max_examples=examples(300))
    @given(damaged(st.just(original)))
    def ask(content: bytes) -> None:
        try:
            changed = open_file(kind, content, key_format)
            changed.between(None, End(key)), changed.values(), changed.nulls()
        except UnsupportedVersionError as e:
            assert "upgrade paimon-sql" in str(e)
        except UnreadableFileError as e:
            assert "drop and create the index again" in str(e)

    ask()


def test_blocks_have_checksums() -> None:
    with pytest.raises(
        CorruptFileError, match="a block of [0-9]+ bytes has the checksum [0-9a-f]{8}, not [0-9a-f]{8} as stored"
    ):
        open_file("btree", JAVA_BTREE[:10] + b"\x77" + JAVA_BTREE[11:], KeyFormat.of(BIGINT)).values()


def test_what_is_no_index_file() -> None:
    for kind in GLOBAL_INDEX_FILES:
        for content in (b"", b"x" * 100):
            with pytest.raises(UnreadableFileError, match="global index"):
                open_file(kind, content, KeyFormat.of(STRING)).values()
    with pytest.raises(UnsupportedVersionError, match="version 2"):
        open_file("btree", JAVA_BTREE[:-8] + b"\2" + JAVA_BTREE[-7:], KeyFormat.of(BIGINT)).values()
    with pytest.raises(UnfamiliarFormError, match="codec 9"):
        unseal("f", seal(9, b"body"))  # type: ignore[arg-type]
    with pytest.raises(UnsupportedFeatureError, match="lzo"):
        read_block("f", lambda start, size: seal(Codec.LZO, b"\1x"), BlockHandle(0, 2))


# pypaimon 2.1.0, `BloomFilter.from_hashes` of these keys
FILTERS = (
    ([i.to_bytes(8, "little", signed=True) for i in range(-20, 20, 2)], "dc30fc04e4ebd11f050c5478113ff3c0"),
    ([b"", b"a", b"abc", b"abcd", b"abcdefg", b"\xc3\xbc", b"\xff\xfe\xfd"], "28c3adeff815"),
)


def test_pypaimon_writes_the_same_filters() -> None:
    for keys, data in FILTERS:
        found = filter_of(ByteKeys.of(keys))
        assert found == KeyFilter(bytes.fromhex(data), len(keys))
        assert all(map(found.may_have, keys))


@settings(max_examples=examples(60))
@given(st.sets(st.integers(-(2**63), 2**63 - 1), max_size=60), st.sets(st.integers(-(2**63), 2**63 - 1), max_size=60))
def test_filters_never_hide_a_key(present: set[int], absent: set[int]) -> None:
    plain_file, filtered = (numbers_file(sorted(present), has_filter=h)[0] for h in (False, True))
    for key in present | absent:
        assert list(filtered.between(End(key), End(key))) == list(plain_file.between(End(key), End(key)))
    assert list(filtered.values()) == list(plain_file.values())


def numbers_file(numbers: Sequence[int], *, has_filter: bool) -> tuple[GlobalIndexFile, list[int]]:
    """A file of numbers in small blocks, and the offsets that its reader reads."""
    stored = ByteKeys.of([n.to_bytes(8, "little", signed=True) for n in numbers])
    grouped = GroupedRows(stored, np.arange(len(numbers) + 1), np.arange(len(numbers)), NULLS[:0])
    content, offsets = btree.encode_btree(grouped, 64, plain, has_filter=has_filter), list[int]()
    key_format = KeyFormat.of(BIGINT)
    assert key_format is not None

    def fetch(start: int, size: int) -> bytes:
        offsets.append(start)
        return content[start : start + size]

    return GLOBAL_INDEX_FILES["btree"]("f", len(content), key_format, fetch), offsets


def test_a_search_for_a_missing_key_reads_no_block() -> None:
    reads = []
    for has_filter in (False, True):
        file, offsets = numbers_file(range(0, 4000, 2), has_filter=has_filter)
        assert not any(len(file.between(End(k), End(k))) for k in range(1, 4000, 20))
        reads.append(len(offsets))
        assert all(len(file.between(End(k), End(k))) == 1 for k in range(0, 4000, 200))
    assert reads[0] > 150 and reads[1] < 40  # the filter errs for one key in twenty


def test_large_filters_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paimon_core.indexes.global_index.reader._LARGEST_FILTER", 100)
    file, offsets = numbers_file(range(200), has_filter=True)
    assert list(file.between(End(7), End(7))) == [7] and len(offsets) == 3  # footer, index, block
    assert file._filter is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("data_type", "stored"),
    [
        (BIGINT, [b"\xff" * 8, b"\x05" + b"\0" * 7]),
        (STRING, [b"", "ü".encode()]),
        (DecimalType(precision=30, scale=2), [b"\x80", b"\x7f", b"\x00\x80", b"\xff\x7f", b"\x00"]),
    ],
)
def test_keys_lead_back_to_their_bytes(data_type: DataType, stored: list[bytes]) -> None:
    key_format = KeyFormat.of(data_type)
    assert key_format is not None
    assert [key_format.stored(key_format.read("f", key)) for key in stored] == stored


def test_keys_that_several_values_share_are_searched_without_a_filter() -> None:
    for data_type, stored in ((DOUBLE, b"\0" * 8), (TimeType(Kind.TIMESTAMP, precision=6), b"\0" * 9)):
        key_format = KeyFormat.of(data_type)
        assert key_format is not None and key_format.stored(key_format.read("f", stored)) is None


def test_filters_outside_of_the_file_are_damage() -> None:
    for footer in ((10, 0, 5), (10, 4, 0), (10**9, 4, 5), (-1, 4, 5), (0, -4, 5)):
        content = JAVA_BTREE[: -btree.FOOTER_SIZE] + struct.pack("<qiq", *footer) + JAVA_BTREE[-32:]
        with pytest.raises(CorruptFileError):
            open_file("btree", content, KeyFormat.of(BIGINT)).between(End(3), End(3))


@pytest.mark.parametrize(
    "meta",
    [SortedFileMeta(b"", b"zz", False), SortedFileMeta(None, None, True), SortedFileMeta(b"a", b"b", True)],
)
def test_key_ranges(meta: SortedFileMeta) -> None:
    data = encode_file_meta(meta)
    assert decode_file_meta("f", data) == meta
    assert decode_file_meta("f", data[:-2]) == meta  # as old writers have it
    for broken in (None, b"", data[:3], b"\xff" * 20):
        with pytest.raises(CorruptFileError, match="range of keys"):
            decode_file_meta("f", broken)
