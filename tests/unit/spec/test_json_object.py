from __future__ import annotations

from typing import Any

import pytest

from paimon_core.errors import CorruptFileError, InvalidDataError, UnfamiliarFormError
from paimon_core.spec.json_object import decode_json_object, encode_json_object, member

PATH = "db.db/t/tag/tag-x"


@pytest.mark.parametrize(
    ("data", "node"),
    [
        (b"{}", {}),
        (' {"größe": [1, null]} '.encode(), {"größe": [1, None]}),
        (b'\xef\xbb\xbf{"a": 1}\r\n\t ', {"a": 1}),
        (rb'{"a": "\u00e4\ud83d\ude80\n"}', {"a": "ä🚀\n"}),
    ],
)
def test_objects(data: bytes, node: Any) -> None:
    assert decode_json_object(PATH, data) == node


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"{} {}",
        b"{'a': 1}",
        b'{"a": 01}',
        "größe".encode("latin-1"),
        rb'{"a": "\ud800"}',
        rb'{"\udc00": 1}',
        b'{"a": "\xed\xa0\x80"}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a":' * 100_000,
    ],
    ids=lambda d: repr(d[:20]),
)
def test_what_is_no_json(data: bytes) -> None:
    with pytest.raises(CorruptFileError, match=f"{PATH} is corrupt: it is not valid JSON"):
        decode_json_object(PATH, data)


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b'{"a": NaN}', "NaN is not a number of JSON"),
        (b'{"a": -Infinity}', "-Infinity is not a number of JSON"),
        ('{"a": 1}'.encode("utf-16-le").join((b"\xff\xfe", b"")), "UTF-16, and must be in UTF-8"),
        ('{"a": 1}'.encode("utf-16-be").join((b"\xfe\xff", b"")), "UTF-16, and must be in UTF-8"),
    ],
)
def test_spellings_of_other_writers_are_unfamiliar(data: bytes, cause: str) -> None:
    with pytest.raises(UnfamiliarFormError, match=f"{PATH} has a form .*{cause}"):
        decode_json_object(PATH, data)


@pytest.mark.parametrize(("data", "kind"), [(b"[]", "list"), (b"null", "NoneType"), (b"5", "int"), (b'"x"', "str")])
def test_other_values(data: bytes, kind: str) -> None:
    with pytest.raises(UnfamiliarFormError, match=f"{PATH} .*a JSON object is expected, not {kind}"):
        decode_json_object(PATH, data)


def test_members() -> None:
    node = {"a": 1, "b": None, "c": True}
    assert member(node, "a", int) == 1
    assert member(node, "b", str | None) is None
    assert member(node, "c", bool) is True
    assert member(node, "d", int, 5) == 5
    assert member(node, "a", int, 5) == 1


@pytest.mark.parametrize(
    ("node", "key", "kind", "cause"),
    [
        ({}, "a", int, "no 'a'"),
        ([], "a", int, "no 'a'"),
        (None, "a", int, "no 'a'"),
        ({"a": True}, "a", int, "'a' is True"),
        ({"a": 1}, "a", bool, "'a' is 1"),
        ({"a": 1.0}, "a", int, r"'a' is 1\.0"),
        ({"a": None}, "a", str, "'a' is None"),
        ({"a": "x" * 10**6}, "a", int, "'a' is 'xxx"),
    ],
)
def test_members_of_other_types(node: Any, key: str, kind: Any, cause: str) -> None:
    with pytest.raises(TypeError, match=cause) as caught:
        member(node, key, kind)
    assert len(str(caught.value)) < 100


def test_what_is_written_is_read() -> None:
    node = {"größe": ["🚀", "\x1b\u2028", None], "a": {"b": 1}}
    assert decode_json_object(PATH, encode_json_object(node)) == node
    for text in ("\ud800", "a\udc80b"):
        for wrong in ({"a": {"b": [text]}}, {text: 1}):
            with pytest.raises(InvalidDataError, match="is half of a character") as caught:
                encode_json_object(wrong)
            assert str(caught.value).encode()
