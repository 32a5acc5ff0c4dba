"""The JSON of functions, as Java's engines read and write it."""

from __future__ import annotations

import json

import pytest

from paimon_core.errors import CorruptFileError, UnfamiliarFormError, UnsupportedFeatureError
from paimon_sql.catalog.function import FileDefinition, Function, decode_function, encode_function, function_json
from tests.catalogs.test_functions import FULL, ONE

# as Java's `CreateFunctionRequest` is written
JAVAS = """{"name": "f", "inputParams": [{"id": 0, "name": "length", "type": "INT"}],
 "returnParams": [{"id": 0, "name": "area", "type": "BIGINT"}], "deterministic": true,
 "definitions": {"flink": {"type": "file", "fileResources": [{"resourceType": "JAR", "uri": "/a.jar"}],
   "language": "JAVA", "className": "com.x.Y", "functionName": "f"},
  "spark": {"type": "lambda", "definition": "(Integer l) -> { return (long) l; }", "language": "JAVA"}},
 "comment": "c", "options": {"k1": "v1"}}"""


@pytest.mark.parametrize("function", [FULL, ONE, Function(parameters=None, results=None)])
def test_round_trip(function: Function) -> None:
    assert decode_function("f", encode_function(function)) == function


def test_java_writes() -> None:
    found = decode_function("f", JAVAS.encode())
    assert {"name": "f", **function_json(found)} == json.loads(JAVAS)
    assert found.definitions["flink"] == FileDefinition((("JAR", "/a.jar"),), "JAVA", "com.x.Y", "f")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"definitions": []}',
        '{"definitions": {"spark": {}}}',
        '{"definitions": {"spark": {"type": "sql"}}}',
        '{"definitions": {"spark": {"type": "file", "fileResources": [1]}}}',
        '{"inputParams": [{"name": "x"}]}',
        '{"options": {"k": 1}}',
        '{"deterministic": "yes"}',
    ],
)
def test_what_is_no_function(text: str) -> None:
    with pytest.raises(UnfamiliarFormError, match="left as it is.*drop the function"):
        decode_function("f", text.encode())


@pytest.mark.parametrize("text", ["", "{", '{"comment": "a"}'[:-2]])
def test_what_is_damaged(text: str) -> None:
    with pytest.raises(CorruptFileError, match="restore it from a backup, or drop the function"):
        decode_function("f", text.encode())


def test_what_is_not_known() -> None:
    with pytest.raises(UnsupportedFeatureError, match="type 'wasm' are not supported"):
        decode_function("f", b'{"definitions": {"spark": {"type": "wasm"}}}')
