"""`.blobref` files: the packs of a data file. The empty file has the bytes that Java wrote."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.errors import CorruptFileError, InvalidDataError, UnreadableFileError, UnsupportedVersionError
from paimon_core.store.blob.references import decode_references, encode_references

NAMES = st.text(st.characters(exclude_characters="/", exclude_categories=("Cs",)), min_size=1, max_size=9)
PATHS = st.builds(lambda folder, name: f"/{folder}/{name}.managed.blob", NAMES, NAMES)


@given(packs=st.frozensets(PATHS, max_size=4))
def test_packs_are_read_as_written(packs: frozenset[str]) -> None:
    assert decode_references("f", encode_references(sorted(packs))) == packs


def test_bytes() -> None:
    assert encode_references([]).hex() == "50424c520100000000fb42dead"
    given = ["/t/b/2.managed.blob", "/t/b/1.managed.blob", "/t/b/1.managed.blob", "/t/b/other.blob"]
    payload = b"\x01\x00\x00\x00\x02" + b"".join(b"\x00\x04/t/b\x00\x0e%d.managed.blob" % n for n in (1, 2))
    assert encode_references(given) == b"PBLR" + payload + zlib.crc32(payload).to_bytes(4, "big")
    with pytest.raises(InvalidDataError, match="65,535"):
        encode_references([f"/{'x' * 70_000}/a.managed.blob"])


def checked(payload: bytes) -> bytes:
    return b"PBLR" + payload + zlib.crc32(payload).to_bytes(4, "big")


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        (b"", CorruptFileError, "bytes are missing"),
        (b"PBLX\x01\x00\x00\x00\x00\xfb\x42\xde\xad", CorruptFileError, "magic"),
        (checked(b"\x02\x00\x00\x00\x00"), UnsupportedVersionError, "version 2"),
        (checked(b"\x00\x00\x00\x00\x00"), CorruptFileError, "version 0"),
        (checked(b"\x01\x7f\xff\xff\xff"), CorruptFileError, "entries are announced"),
        (checked(b"\x01\x00\x00\x00\x00") + b"x", CorruptFileError, "after its checksum"),
        (checked(b"\x01\x00\x00\x00\x01\x00\x00\x00\x01x"), CorruptFileError, "not the path of a pack"),
        (checked(b"\x01\x00\x00\x00\x01\x00\x01a\x00\x02.."), CorruptFileError, "not the path of a pack"),
        (checked(b"\x01\x00\x00\x00\x01\x00\x01a\x00\x03b/c"), CorruptFileError, "not the path of a pack"),
    ],
)
def test_other_bytes_are_refused(data: bytes, kind: type[UnreadableFileError], said: str) -> None:
    with pytest.raises(kind, match=said):
        decode_references("f", data)


def test_damage_is_found() -> None:
    good = encode_references(["/t/b/1.managed.blob", "/t/b/2.managed.blob"])
    chance = random.Random(0)
    for _ in range(2000):
        bad = bytearray(good)
        bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
        with pytest.raises(UnreadableFileError):
            decode_references("f", bytes(bad))
    for end in range(len(good)):
        with pytest.raises(CorruptFileError):
            decode_references("f", good[:end])
