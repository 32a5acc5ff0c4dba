"""Functions and dialects of views by procedure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from typing import Any

import pytest

from paimon_core.errors import (
    FunctionExistsError,
    FunctionNotFoundError,
    InvalidOptionError,
    PaimonError,
    UnsupportedFeatureError,
    ViewNotFoundError,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BIGINT, INT
from paimon_sql.catalog.function import LambdaDefinition, SqlDefinition
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.catalogs.kinds import VIEW
from tests.unit.procedures.test_compaction import Tasks

F, V = Identifier("default", "f"), Identifier("default", "v")
INPUTS = '[{"id": 0, "name": "length", "type": "INT"}, {"id": 1, "name": "width", "type": "INT"}]'
RESULT = '[{"id": 0, "name": "area", "type": "BIGINT"}]'


class Calls:
    def __init__(self, catalog: Any) -> None:
        self.catalog, self.context = catalog, ProcedureContext(catalog, "default", Tasks(), UTC)

    def __call__(self, name: str, **arguments: Any) -> Any:
        return PROCEDURES[name].call(self.context, arguments)

    def create(self, **more: Any) -> Any:
        return self("create_function", **{"function": "f", "inputParams": INPUTS, "returnParams": RESULT, **more})

    def change(self, **change: Any) -> Any:
        return self("alter_function", function="default.f", change=json.dumps(change))


@pytest.fixture
def calls(warehouse: str) -> Iterator[Calls]:
    yield Calls(load_catalog({"warehouse": warehouse}))


def test_a_function_of_javas_page(calls: Calls) -> None:
    assert calls.create(deterministic=False, comment="comment", options="k1=v1,k2=v2") == [(True,)]
    made = calls.catalog.load_function(F)
    assert [(f.name, f.type) for f in made.parameters] == [("length", INT), ("width", INT)]
    assert [(f.name, f.type) for f in made.results] == [("area", BIGINT)]
    assert (made.definitions, made.deterministic, made.comment) == ({}, False, "comment")
    assert made.options == {"k1": "v1", "k2": "v2"}
    with pytest.raises(FunctionExistsError, match=r"default\.f"):
        calls.create()
    text = "(Integer length, Integer width) -> { return (long) length * width; }"
    java = {"type": "lambda", "definition": text, "language": "JAVA"}
    calls.change(action="addDefinition", name="spark", definition=java)
    assert calls.catalog.load_function(F).definitions == {"spark": LambdaDefinition(text, "JAVA")}
    calls.change(action="updateDefinition", name="spark", definition={"type": "sql", "definition": "length * width"})
    calls.change(action="removeOption", key="k1")
    assert calls.catalog.load_function(F) == replace(
        made, definitions={"spark": SqlDefinition("length * width")}, options={"k2": "v2"}
    )
    calls.change(action="dropDefinition", name="spark")
    assert calls("drop_function", function="f") == [(True,)]
    with pytest.raises(FunctionNotFoundError, match=r"default\.f"):
        calls("drop_function", function="f")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"inputParams": "length INT"}, "inputParams cannot be 'length INT'"),
        ({"inputParams": "{}"}, "'f' cannot be created: as a function, "),
        ({"returnParams": '[{"id": 0, "name": "a", "type": "WHAT"}]'}, "'f' cannot be used: Columns of type WHAT"),
        ({"returnParams": "[" * 100_000}, "returnParams cannot be"),
        ({"options": "x"}, "options cannot be 'x'"),
    ],
)
def test_functions_that_are_refused(calls: Calls, wrong: dict[str, str], says: str) -> None:
    with pytest.raises(PaimonError, match=says):
        calls.create(**wrong)
    assert calls.catalog.list_functions("default") == []


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        ({}, InvalidOptionError, "'default.f' is not changed: '{}' is not a valid change"),
        (
            {"action": "rename"},
            UnsupportedFeatureError,
            "'rename' of the function default.f is not supported; there are setOption",
        ),
        ({"action": "setOption", "key": "a"}, InvalidOptionError, "is not a valid change .*value"),
        ({"action": "dropDefinition", "name": "x"}, FunctionNotFoundError, "no definition 'x'; it has none"),
        ({"action": "addDefinition", "name": "x", "definition": {"type": "y"}}, UnsupportedFeatureError, "'y'"),
    ],
)
def test_changes_that_are_refused(calls: Calls, change: dict[str, Any], kind: type[Exception], says: str) -> None:
    calls.create()
    before = calls.catalog.load_function(F)
    with pytest.raises(kind, match=says):
        calls.change(**change)
    for no_json in ("", "[]", "{", "\ud800"):
        with pytest.raises(InvalidOptionError, match="is not a valid change"):
            calls("alter_function", function="f", change=no_json)
    assert calls.catalog.load_function(F) == before


def test_dialects_of_a_view(calls: Calls) -> None:
    calls.catalog.create_view(V, replace(VIEW, dialects={"spark": "SELECT 1"}))

    def alter(action: str, **more: str) -> dict[str, str]:
        assert calls("alter_view_dialect", view="v", action=action, **more) == [(True,)]
        return dict(calls.catalog.load_view(V).dialects)

    assert alter("add", engine="flink", query="SELECT 2") == {"spark": "SELECT 1", "flink": "SELECT 2"}
    assert alter("update", query="SELECT 3") == {"spark": "SELECT 3", "flink": "SELECT 2"}
    assert alter("drop", engine="flink") == {"spark": "SELECT 3"}
    for arguments, kind, says in (
        ({"action": "add", "query": "x"}, InvalidOptionError, "The view default.v already has the dialect 'spark'"),
        ({"action": "add", "engine": "flink", "query": " "}, InvalidOptionError, "query is missing"),
        ({"action": "drop", "engine": "flink"}, ViewNotFoundError, "default.v has no dialect 'flink'; it has spark"),
        ({"action": "what"}, InvalidOptionError, "action cannot be 'what': use one of add, update, drop"),
    ):
        with pytest.raises(kind, match=says):
            calls("alter_view_dialect", view="v", **arguments)


def test_a_catalog_without_functions_and_views() -> None:
    calls = Calls(_Plain())
    for name in ("create_function", "alter_function", "drop_function", "alter_view_dialect"):
        arguments = {
            p.name: "[]" if p.name.endswith("Params") else "it" for p in PROCEDURES[name].parameters if p.required
        }
        with pytest.raises(
            UnsupportedFeatureError, match="'it' cannot be .*: its catalog does not support (functions|views)"
        ):
            calls(name, **arguments)


class _Plain:
    """A catalog that keeps tables alone."""
