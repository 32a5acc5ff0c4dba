"""The JSON of views: what Java wrote is read, and what is damaged or hostile is refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.errors import CorruptFileError, InvalidDataError, UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.spec.types import INT, STRING, DataField
from paimon_sql.catalog.view import View, decode_view, encode_view

FIELDS = (DataField(id=0, name="k", type=INT, description="key"), DataField(id=1, name="v", type=STRING))
# as Paimon's JDBC catalog of Java writes one of Flink's
OF_JAVA = b"""{"fields":[{"id":0,"name":"k","type":"INT","description":"key"},{"id":1,"name":"v","type":"STRING"}],
  "query":"SELECT `k`, `v` FROM `t`","dialects":{"flink":"SELECT `k`, `v` FROM `t`"},
  "comment":"c","options":{"a":"b"}}"""
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
VIEWS = st.builds(
    View,
    fields=st.just(FIELDS),
    query=TEXTS,
    dialects=st.dictionaries(TEXTS, TEXTS, max_size=2),
    comment=st.none() | TEXTS,
    options=st.dictionaries(TEXTS, TEXTS, max_size=2),
    catalog=st.none() | TEXTS,
    namespace=st.none() | st.lists(TEXTS, max_size=2).map(tuple),
    settings=st.dictionaries(TEXTS.map("spark.{}".format), TEXTS, max_size=2),
)


def test_what_java_wrote() -> None:
    view = decode_view("v", OF_JAVA)
    assert view == View(
        fields=FIELDS,
        query="SELECT `k`, `v` FROM `t`",
        dialects={"flink": "SELECT `k`, `v` FROM `t`"},
        comment="c",
        options={"a": "b"},
    )
    assert (view.namespace, view.query_of("spark"), view.query_of("flink")) == (None, view.query, view.query)


def test_what_java_reads() -> None:
    """Java knows five members, and texts as options."""
    node = json.loads(
        encode_view(View(fields=FIELDS, query="SELECT 1", catalog="c", namespace=("d",), settings={"x": "y"}))
    )
    assert node == {
        "fields": [
            {"id": 0, "name": "k", "type": "INT", "description": "key"},
            {"id": 1, "name": "v", "type": "STRING"},
        ],
        "query": "SELECT 1",
        "dialects": {},
        "options": {
            "paimon-sql.view.catalog": "c",
            "paimon-sql.view.namespace": '["d"]',
            "paimon-sql.view.x": "y",
        },
    }


@given(VIEWS)
def test_round_trip(view: View) -> None:
    if not any(k.startswith("paimon-sql.view.") for k in view.options):
        assert decode_view("v", encode_view(view)) == view


@pytest.mark.parametrize(
    "change",
    [
        {"fields": None},
        {"fields": [{"name": "k", "type": "INT"}]},
        {"fields": [{"id": 0, "name": "k", "type": "NOPE("}]},
        {"query": None},
        {"query": ["SELECT 1"]},
        {"dialects": {"spark": 1}},
        {"dialects": ["spark"]},
        {"options": {"a": None}},
        {"comment": 1},
        {"options": {"paimon-sql.view.namespace": "["}},
        {"options": {"paimon-sql.view.namespace": "[1]"}},
        {"options": {"paimon-sql.view.namespace": '{"a": "b"}'}},
    ],
)
def test_damaged_ones(change: dict[str, Any]) -> None:
    data = json.dumps(json.loads(OF_JAVA) | change).encode()
    with pytest.raises((UnfamiliarFormError, UnsupportedFeatureError), match="the/path"):
        decode_view("the/path", data)


@pytest.mark.parametrize("data", [b"", b"\xff", b"{", b"[" * 100_000])
def test_no_json(data: bytes) -> None:
    with pytest.raises(CorruptFileError, match="the/path.*drop the view and create it again"):
        decode_view("the/path", data)


@pytest.mark.parametrize("data", [b"[]", b'{"fields": []}'])
def test_json_of_another_form(data: bytes) -> None:
    with pytest.raises(UnfamiliarFormError, match="the/path.*drop the view and create it again"):
        decode_view("the/path", data)


def test_half_a_character() -> None:
    with pytest.raises(InvalidDataError, match="half of a character"):
        encode_view(View(fields=FIELDS, query="SELECT '\ud800'"))
