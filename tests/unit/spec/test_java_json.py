"""JSON of metadata files as Java reads it: `java_json.json` is what Java makes of each spelling of a member."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.errors import CorruptFileError, UnfamiliarFormError, UnreadableFileError, UnsupportedVersionError
from tests.support.examples import examples
from tests.support.java_json import BASES, TABLE, VALUES, document, values_of
from tests.support.java_json_model import PATH, comparable, ours

ASKED: dict[str, dict[str, list[list[Any]]]] = json.loads(TABLE.read_text(encoding="utf-8"))
CASES = [(kind, key, raw, java) for kind, keys in ASKED.items() for key, rows in keys.items() for raw, java in rows]
NEEDED = {"snapshot": {"id", "baseManifestList"}}  # Java has 0 and null instead, and fails later


def is_stricter(kind: str, key: str, raw: str | None) -> bool:
    """Whether we refuse what Java reads in silence as something else."""
    value = None if raw in (None, "NaN") else json.loads(str(raw))
    if value is None or (kind == "snapshot" and key == "id" and value in ("", " ", "null")):
        return key in NEEDED.get(kind, ())
    if kind != "schema":
        return False
    if key in ("partitionKeys", "primaryKeys"):
        return not isinstance(value, list) or any(not isinstance(v, str | int) for v in value)
    if key == "options":
        return not isinstance(value, dict)
    if key == "comment":
        return isinstance(value, list | dict)
    if isinstance(value, str):
        try:
            value = float(value.replace("NaN", ""))
        except ValueError:
            return True
    return True if isinstance(value, bool | list | dict) else abs(value) >= 2 ** (63 if key == "timeMillis" else 31)


@pytest.mark.parametrize(("kind", "key", "raw", "java"), CASES, ids=lambda v: str(v)[:40])
def test_each_member_is_read_as_java_reads_it_or_refused_by_name(
    kind: str, key: str, raw: str | None, java: dict[str, Any] | None
) -> None:
    text = document(kind, {key: raw})
    if key == "version" and java is not None and java["is"] > 3 and not is_stricter(kind, key, raw):
        with pytest.raises(UnsupportedVersionError, match=rf"version {java['is']}"):
            ours(kind, text)
    elif raw == "NaN":
        with pytest.raises(UnfamiliarFormError, match="NaN is not a number of JSON"):
            ours(kind, text)
    elif java is None and key == "operation" and str(raw).startswith('"') and str(raw)[1:-1].isidentifier():
        assert ours(kind, text)[key] == str(raw)[1:-1]  # a later operation: nothing depends on it
    elif key == "partitionKeys" and java is not None and java["is"] and not is_stricter(kind, key, raw):
        named = {"fields": json.dumps([{"id": 0, "name": java["is"][0], "type": "INT"}])}
        assert ours(kind, document(kind, {key: raw} | named))[key] == java["is"]
    elif key == "primaryKeys" and java is not None and java["is"] and not is_stricter(kind, key, raw):
        named = {"fields": json.dumps([{"id": 0, "name": java["is"][0], "type": "INT NOT NULL"}])}
        assert ours(kind, document(kind, {key: raw} | named))[key] == java["is"]
    elif java is None or is_stricter(kind, key, raw):
        with pytest.raises(UnfamiliarFormError, match=rf"{PATH}.*'{key}") as refused:
            ours(kind, text)
        assert "corrupt" not in str(refused.value) and "left as it is" in str(refused.value)
    elif key == "comment" and raw == "null":
        assert key not in ours(kind, text)  # Java makes the text null of it
    else:
        theirs = comparable(kind, BASES[kind] | {key: java["is"]})
        assert ours(kind, text).get(key) == theirs.get(key)


def test_unknown_members_are_passed_over() -> None:
    for kind, base in BASES.items():
        assert ours(kind, document(kind, {"later": '{"a": [1, null]}'})) == comparable(kind, base)


@pytest.mark.parametrize("name", ["description", "defaultValue"])
def test_texts_of_fields_may_be_numbers_and_null(name: str) -> None:
    for raw, text in (("null", None), ("5", "5"), ("1.50", "1.5"), ("true", "true"), ('"x"', "x")):
        field = f'{{"id": "0", "name": "a", "type": "INT", "{name}": {raw}}}'
        assert ours("schema", document("schema", {"fields": f"[{field}]"}))["fields"][0].get(name) == text


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, str, set[str]]:
    kind = draw(st.sampled_from(sorted(VALUES)))
    keys = draw(st.sets(st.sampled_from(sorted(VALUES[kind])), max_size=4))
    changes = {key: draw(st.sampled_from(values_of(kind, key))) for key in sorted(keys)}
    changes |= {"unknown": draw(st.sampled_from(["null", "[1]", '{"a": 1}']))}
    return kind, document(kind, changes), keys


@settings(max_examples=examples(500))
@given(documents())
def test_any_file_is_read_or_refused_by_the_name_of_a_member(case: tuple[str, str, set[str]]) -> None:
    kind, text, keys = case
    try:
        ours(kind, text)
    except UnreadableFileError as error:
        if "NaN is not a number of JSON" in error.cause:
            return
        assert not isinstance(error, CorruptFileError)
        assert any(f"'{key}" in error.cause for key in keys) or "version" in error.cause or "column" in error.cause
