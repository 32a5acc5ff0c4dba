"""Metadata files with missing, null, unknown and re-typed members: Java is asked what it makes of each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.errors import UnreadableFileError
from tests.support.java_json import VALUES, JavaJson, document, java_json, values_of
from tests.support.java_json_model import comparable, ours
from tests.support.java_oracle import find_oracles


@pytest.fixture(scope="module")
def java() -> Iterator[JavaJson]:
    if find_oracles() is None:
        pytest.skip("shared/oracles is missing in the folders above: set PAIMON_ORACLES to its folder")
    with java_json() as readers:
        yield readers


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, str]:
    kind = draw(st.sampled_from(sorted(VALUES)))
    keys = draw(st.sets(st.sampled_from(sorted(VALUES[kind])), min_size=1, max_size=3))
    spelled = {key: draw(st.sampled_from(values_of(kind, key)) | st.sampled_from(("7", '"7"', None))) for key in keys}
    return kind, document(kind, dict(sorted(spelled.items())) | {"unknown": "[1, null]"})


def test_what_we_read_java_reads_alike(java: JavaJson) -> None:
    read = 0

    @settings(max_examples=400)
    @given(documents())
    def check(case: tuple[str, str]) -> None:
        nonlocal read
        kind, text = case
        try:
            found = ours(kind, text)
        except UnreadableFileError:
            return
        theirs = java.read(kind, text)
        if theirs is None:  # we also read later operations, and keys that are the partition
            assert "operation" in found or found["primaryKeys"] == found["partitionKeys"] != []
            return
        if '"comment": null' in text:
            theirs.pop("comment")  # the text null in Java
        read += 1
        assert found == comparable(kind, theirs)

    check()
    assert read > 50
