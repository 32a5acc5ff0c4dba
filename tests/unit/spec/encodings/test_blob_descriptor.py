"""Blob descriptors: the bytes that Java writes, and any others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.errors import InvalidDataError
from paimon_core.spec.encodings.blob_descriptor import DESCRIPTOR_HEADS, BlobDescriptor

JAVA = bytes.fromhex("0243534544424F4C42040000002F612F620000000000000000FFFFFFFFFFFFFFFF")


def test_as_java_writes_and_shows_it() -> None:
    assert BlobDescriptor("/a/b").encode() == JAVA
    assert BlobDescriptor.decode(JAVA).text() == "BlobDescriptor{version=2, uri='/a/b', offset=0, length=-1}"
    first_version = bytes.fromhex("01030000 0061622F 0100000000000000 0200000000000000")
    assert BlobDescriptor.decode(first_version) == BlobDescriptor("ab/", 1, 2, version=1)


@given(st.text(), st.integers(0, 2**63 - 1), st.integers(-1, 2**63 - 1))
def test_there_and_back(uri: str, offset: int, length: int) -> None:
    descriptor = BlobDescriptor(uri.encode(errors="ignore").decode(), offset, length)
    data = descriptor.encode()
    assert BlobDescriptor.decode(data) == descriptor
    assert data.startswith(DESCRIPTOR_HEADS[2])


@given(st.one_of(st.binary(max_size=60), st.integers(0, len(JAVA) - 1).map(lambda n: JAVA[:n])))
def test_other_bytes_are_refused_or_read(data: bytes) -> None:
    try:
        assert BlobDescriptor.decode(data).version == data[0]
    except InvalidDataError as e:
        assert "Invalid BlobDescriptor data" in str(e)


def test_what_is_wrong_is_told() -> None:
    for data, said in (
        (b"", "empty"),
        (b"\x03", "version is 3"),
        (JAVA[:1] + b"x" * 30, "begin"),
        (JAVA[:20], "parts"),
    ):
        with pytest.raises(InvalidDataError, match=said):
            BlobDescriptor.decode(data)
