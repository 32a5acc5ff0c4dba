"""The definition of a function in the form of Paimon's catalogs: one JSON object in UTF-8, written by Java's
`Function`.

    {"inputParams": [field], "returnParams": [field], "deterministic", "definitions": {engine: definition},
     "comment", "options": {text: text}}

A field is a column (`spec.types`); its default value is SQL. The `type` of a definition is `sql`, `lambda` (code in a
language) or `file` (a class in files). An engine stores everything else that it needs among the options.

Source: `Function`, `FunctionDefinition` and `CreateFunctionRequest` of Paimon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import CorruptFileError, InvalidSchemaError, UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.spec.json_object import decode_json_object, encode_json_object, member, text_map
from paimon_core.spec.types import DataField, parse_field

_ADVICE = "restore it from a backup, or drop the function and create it again"
_ANEW = "upgrade paimon-sql if a later version wrote it, or drop the function and create it again"


@dataclass(frozen=True, slots=True)
class SqlDefinition:
    """The text of an expression, or of a query."""

    text: str


@dataclass(frozen=True, slots=True)
class LambdaDefinition:
    """The definition of a function as code in another language than SQL."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class FileDefinition:
    """A class, and the files that contain it: each file has a type and a URI."""

    resources: tuple[tuple[str, str], ...]
    language: str | None
    class_name: str | None
    function_name: str | None = None


Definition = SqlDefinition | LambdaDefinition | FileDefinition


@dataclass(frozen=True, kw_only=True)
class Function:
    """A named function: its parameters, its results, and its definition for each engine.

    Parameters or results that the definition does not declare are `None`."""

    parameters: tuple[DataField, ...] | None
    results: tuple[DataField, ...] | None
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    deterministic: bool = True
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def encode_function(function: Function) -> bytes:
    """Return the JSON of a function, indented. Raises `InvalidDataError` for a text that cannot be stored in a file."""
    return encode_json_object(function_json(function))


def function_json(function: Function) -> dict[str, Any]:
    """Return the JSON object of a function."""
    node: dict[str, Any] = {
        "inputParams": _fields_json(function.parameters),
        "returnParams": _fields_json(function.results),
        "deterministic": function.deterministic,
        "definitions": {engine: definition_json(d) for engine, d in function.definitions.items()},
        "comment": function.comment,
        "options": dict(function.options),
    }
    return {key: value for key, value in node.items() if value is not None}


def definition_json(definition: Definition) -> dict[str, Any]:
    """Return the JSON object of one definition."""
    match definition:
        case SqlDefinition(text):
            return {"type": "sql", "definition": text}
        case LambdaDefinition(text, language):
            return {"type": "lambda", "definition": text, "language": language}
        case FileDefinition():
            return {
                "type": "file",
                "fileResources": [{"resourceType": kind, "uri": uri} for kind, uri in definition.resources],
                "language": definition.language,
                "className": definition.class_name,
                "functionName": definition.function_name,
            }


def decode_function(path: str, data: bytes) -> Function:
    """Return the function in the JSON of a file or of a database's row; `path` names the source in errors.

    Raises `CorruptFileError`, and `UnsupportedFeatureError` for unknown types.
    """
    try:
        return function_of(path, decode_json_object(path, data))
    except CorruptFileError as e:
        raise e.changed(advice=_ADVICE) from e
    except UnfamiliarFormError as e:
        raise e.changed(advice=_ANEW) from e


def function_of(path: str, node: dict[str, Any]) -> Function:
    """Return the function in a JSON object. Raises the same errors as `decode_function`."""
    try:
        definitions = member(node, "definitions", dict | None, None) or {}
        return Function(
            parameters=_fields(node, "inputParams"),
            results=_fields(node, "returnParams"),
            definitions={engine: definition_of(d) for engine, d in definitions.items()},
            deterministic=member(node, "deterministic", bool, True),
            comment=member(node, "comment", str | None, None),
            options=text_map(node, "options"),
        )
    except UnsupportedFeatureError as e:
        raise UnsupportedFeatureError(f"The function of {path} cannot be used: {e}") from e
    except (InvalidSchemaError, TypeError) as e:
        raise UnfamiliarFormError(path, f"as a function, {e}", _ANEW) from e


def definition_of(node: Any) -> Definition:
    """Return the definition in a JSON object. Raises `TypeError`, `UnsupportedFeatureError`."""
    kind = member(node, "type", str)
    if kind == "sql":
        return SqlDefinition(member(node, "definition", str))
    if kind == "lambda":
        return LambdaDefinition(member(node, "definition", str), member(node, "language", str))
    if kind == "file":
        found = member(node, "fileResources", list | None, None) or []
        return FileDefinition(
            tuple((member(f, "resourceType", str), member(f, "uri", str)) for f in found),
            *(member(node, key, str | None, None) for key in ("language", "className", "functionName")),
        )
    raise UnsupportedFeatureError(
        f"Definitions of the type {kind!r} are not supported. "
        "Read the catalog with the engine that wrote them, or upgrade paimon-sql."
    )


def _fields_json(fields: Sequence[DataField] | None) -> list[dict[str, Any]] | None:
    return None if fields is None else [f.json() for f in fields]


def _fields(node: Any, key: str) -> tuple[DataField, ...] | None:
    found = member(node, key, list | None, None)
    return None if found is None else tuple(parse_field(f) for f in found)
