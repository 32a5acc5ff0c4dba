"""A catalog's functions as Spark runs them, and Spark's functions as a catalog stores them.

An SQL function is stored as Paimon's Java connector stores it. Its body is the definition `spark`. Other properties of
the function, and the settings and the current database at its creation, are options under Spark's names. Table
functions and code in Python, which that connector does not have, are the definition `paimon-sql`.

Source: `SQLFunctionConverter` of Paimon, `SQLFunction` of Spark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql.types import StructType

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import DataField
from paimon_sql.catalog.function import Definition, Function, LambdaDefinition, SqlDefinition
from paimon_sql.spark.jvm.functions import PART, NewFunction
from paimon_sql.spark.types import from_spark, from_struct, read_struct, to_spark, to_struct

ENGINE, OURS = "spark", "paimon-sql"
PYTHON = "PYTHON"
_OPTION = "spark.sql-function."
_IS_QUERY, _DETERMINISTIC, _CONTAINS_SQL = (f"{_OPTION}{k}" for k in ("is-query", "deterministic", "contains-sql"))
_IN_OWN = "paimon-sql.function.in-own-catalog"  # the catalog of the definition is the one that stores it
_PLACE = "catalogAndNamespace."
_TEMPORARY = ("referredTempViewNames", "referredTempFunctionsNames", "referredTempVariableNames")
PRIVATE = "paimon_function_"  # the prefix of temporary functions that stand for functions of catalogs
_DEFAULT = "default"  # the key of a parameter's default in Spark's columns


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature that Spark gives a new function, as JSON: the struct of its parameters, and its return type, which
    is a struct for a table function."""

    parameters_json: str | None
    returns_json: str


def kept_function(
    new: NewFunction, properties: Mapping[str, str], signature: Signature, catalog: str, name: Identifier
) -> Function:
    """Return an SQL function as a catalog stores it; `properties` are Spark's. Raises `UnsupportedFeatureError` for
    types that Paimon does not have, and for temporary views, functions or variables in the body.
    """
    if temporary := [n for key in _TEMPORARY for n in _names(properties.get(key)) if not n.startswith(PRIVATE)]:
        raise UnsupportedFeatureError(
            f"Function {name} cannot be stored: its body names {', '.join(temporary)}. These temporary views, "
            "functions or variables exist only in this session. Write CREATE TEMPORARY FUNCTION."
        )
    options = {k: v for k, v in properties.items() if not k.startswith(PART) and k not in _TEMPORARY}
    deterministic = properties.get(f"{PART}deterministic", "true")
    options |= {_IS_QUERY: str(new.is_query).lower(), _DETERMINISTIC: deterministic}
    options |= {_CONTAINS_SQL: properties.get(f"{PART}containsSQL", "false")}
    if options.get(f"{_PLACE}part.0") == catalog:
        options[_IN_OWN] = "true"
    try:
        taken = _fields(signature.parameters_json or '{"type": "struct", "fields": []}')
        given = _results(name, new, signature)
    except UnsupportedFeatureError as e:
        raise UnsupportedFeatureError(f"Function {name} cannot be stored: {e}") from e
    return Function(
        parameters=taken,
        results=given,
        definitions={OURS if new.is_table else ENGINE: SqlDefinition(new.body)},
        deterministic=deterministic == "true",
        comment=new.comment,
        options=options,
    )


def _names(text: str | None) -> list[str]:
    """Return the names in one of Spark's properties: texts, or lists of their parts."""
    found = json.loads(text) if text else []
    return [n if isinstance(n, str) else ".".join(n) for n in found]


def _fields(schema_json: str) -> tuple[DataField, ...]:
    schema = read_struct(schema_json)
    defaults = (f.metadata.get(_DEFAULT) for f in schema.fields)
    return tuple(replace(field, default=d) for field, d in zip(from_struct(schema), defaults, strict=True))


def _results(name: Identifier, new: NewFunction, signature: Signature) -> tuple[DataField, ...]:
    if new.is_table:
        return _fields(signature.returns_json)
    return (DataField(id=0, name=name.table, type=from_spark(signature.returns_json)),)


def is_table_function(function: Function) -> bool:
    """Return whether a function returns rows."""
    return ENGINE not in function.definitions and isinstance(function.definitions.get(OURS), SqlDefinition)


def _is_python(definition: LambdaDefinition) -> bool:
    return definition.language.upper() == PYTHON


def runnable(function: Function, name: Identifier) -> SqlDefinition | LambdaDefinition:
    """Return the definition that runs here. Raises `UnsupportedFeatureError` if no definition does."""
    for found in (function.definitions.get(ENGINE), function.definitions.get(OURS)):
        if isinstance(found, SqlDefinition) or (isinstance(found, LambdaDefinition) and _is_python(found)):
            return found
    kinds = ", ".join(f"{engine}: {kind_of(d)}" for engine, d in sorted(function.definitions.items()))
    raise UnsupportedFeatureError(
        f"Function {name} cannot be called here: it is defined as {kinds or 'nothing yet'}, and only SQL and Python "
        "run without Java's classes. Define it with CREATE OR REPLACE FUNCTION … RETURN."
    )


def kind_of(definition: Definition) -> str:
    """Describe the kind of a definition in words."""
    match definition:
        case SqlDefinition():
            return "SQL"
        case LambdaDefinition():
            return f"a lambda in {definition.language}"
    files = ", ".join(uri for _, uri in definition.resources)
    return f"the {definition.language or 'Java'} class {definition.class_name}" + (f" in {files}" if files else "")


def place_of(function: Function, catalog: str, name: Identifier) -> tuple[str, ...]:
    """Return the catalog and the namespace in which the body's names are looked up. Raises `UnfamiliarFormError`."""
    count = function.options.get(f"{_PLACE}numParts")
    if count is None:
        return (catalog, name.database)
    try:
        parts = [function.options[f"{_PLACE}part.{i}"] for i in range(min(int(count), 100))]
    except (KeyError, ValueError) as e:
        raise UnfamiliarFormError(f"of function {name}", f"it has no {_PLACE} parts ({e})", "create it anew") from e
    own = parts and function.options.get(_IN_OWN) == "true"
    return (catalog, *parts[1:]) if own else tuple(parts)


def settings_of(function: Function) -> dict[str, str]:
    """Return the settings of the definition, by Spark's names for them."""
    return {k.removeprefix("sqlConfig."): v for k, v in function.options.items() if k.startswith("sqlConfig.")}


def input_struct(function: Function) -> StructType:
    """Return the parameters as Spark's columns."""
    fields = function.parameters or ()
    schema = to_struct(tuple(replace(f, default=None) for f in fields))
    for column, field in zip(schema.fields, fields, strict=True):
        if field.default is not None:
            column.metadata[_DEFAULT] = field.default
    return schema


def result_struct(function: Function) -> StructType:
    """Return the results as Spark's columns; a scalar function has one column."""
    return to_struct(function.results or ())


@dataclass(frozen=True, slots=True)
class Texts:
    """Parts of a definition as Spark's SQL spells them."""

    parameters: str
    returns: str


def spark_properties(
    function: Function, texts: Texts, body: tuple[str, bool], catalog: str, name: Identifier
) -> dict[str, str]:
    """Return a function as Spark stores it. `body` is its text, and whether it is a query. Raises
    `UnfamiliarFormError`.
    """
    place = place_of(function, catalog, name)
    options = {k: v for k, v in function.options.items() if not k.startswith((_OPTION, _PLACE, "paimon-sql."))}
    contains_sql = function.options.get(_CONTAINS_SQL)
    found = {
        **{k: v for k, v in options.items() if k not in _TEMPORARY},
        f"{_PLACE}numParts": str(len(place)),
        **{f"{_PLACE}part.{i}": part for i, part in enumerate(place)},
        f"{PART}returnType": texts.returns,
        f"{PART}{'query' if body[1] else 'expression'}": body[0],
        f"{PART}deterministic": function.options.get(_DETERMINISTIC, str(function.deterministic).lower()),
        f"{PART}isTableFunc": str(is_table_function(function)).lower(),
    }
    if texts.parameters:
        found[f"{PART}inputParam"] = texts.parameters
    if function.comment is not None:
        found[f"{PART}comment"] = function.comment
    return found if contains_sql is None else {**found, f"{PART}containsSQL": contains_sql}


def says_query(function: Function) -> bool | None:
    """Return whether the body is a query, not an expression; None if the definition does not specify it."""
    said = function.options.get(_IS_QUERY)
    return None if said is None else said.lower() == "true"


def reads_data(function: Function) -> bool:
    """Return whether the body may read tables or views."""
    return function.options.get(_CONTAINS_SQL, "false").lower() != "true"


def result_type(function: Function, name: Identifier) -> DataField:
    """Return the result of a scalar function. Raises `UnfamiliarFormError` if the definition has none."""
    if not function.results:
        raise UnfamiliarFormError(f"of function {name}", "it does not define the type of its result", "create it anew")
    return function.results[0]


def described(full_name: str, function: Function, texts: Texts, *, extended: bool) -> list[str]:
    """Return the lines of DESCRIBE FUNCTION, in Spark's form for SQL functions."""
    lines = _labelled("Function", full_name)
    lines += _labelled("Type", "TABLE" if is_table_function(function) else "SCALAR")
    taken = [f"{f.name} {to_spark(f.type).simpleString().upper()}" for f in function.parameters or ()]
    lines += _labelled("Input", *taken) if taken else _labelled("Input", "()")
    if is_table_function(function):
        columns = [f"{f.name} {to_spark(f.type).simpleString().upper()}" for f in function.results or ()]
        lines += _labelled("Returns", *columns)
    else:
        lines += _labelled("Returns", texts.returns)
    if not extended:
        return lines
    if function.comment is not None:
        lines += _labelled("Comment", function.comment)
    lines += _labelled("Deterministic", str(function.deterministic).lower())
    if any(isinstance(d, SqlDefinition) for d in function.definitions.values()):
        lines += _labelled("Data Access", "READS SQL DATA" if reads_data(function) else "CONTAINS SQL")
    settings = [f"{k}={v}" for k, v in sorted(settings_of(function).items())]
    lines += _labelled("Configs", *settings) if settings else []
    for engine, definition in sorted(function.definitions.items()):
        if isinstance(definition, SqlDefinition):
            lines += _labelled("Body", definition.text)
        else:
            lines += _labelled("Definition", f"{engine}: {kind_of(definition)}")
            lines += (
                _labelled("Body", *definition.text.splitlines()) if isinstance(definition, LambdaDefinition) else []
            )
    others = {k: v for k, v in function.options.items() if "." not in k}
    return lines + (_labelled("Options", *(f"{k}={v}" for k, v in sorted(others.items()))) if others else [])


def _labelled(label: str, *values: str) -> list[str]:
    head = f"{label}:".ljust(15)
    return [f"{head if i == 0 else ' ' * 15}{value}" for i, value in enumerate(values)]
