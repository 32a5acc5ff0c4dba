"""Procedures in Python: the functions of `CALL sys.NAME(…)`, with their jobs on threads of this process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from paimon_core.errors import InvalidOptionError, NotFoundError
from paimon_core.tracing import span
from paimon_sql.catalog.base import DEFAULT_DATABASE, SupportsDatabases
from paimon_sql.procedures import PROCEDURES, Parameter, Procedure, ProcedureContext, result_table
from paimon_sql.procedures.arguments import table_options
from paimon_sql.python.procedure_threads import ProcedureThreads

_TYPES: Mapping[str, type] = {"string": str, "bigint": int, "int": int, "boolean": bool, "map<string,string>": dict}


def call_procedure(
    catalog: SupportsDatabases,
    zone: tzinfo | None,
    name: str,
    arguments: Mapping[str, Any],
) -> pa.Table:
    """Call a procedure by its name, with or without `sys.`, and return the rows of its result.

    Raises the errors of `PaimonCatalog.call`.
    """
    procedure = PROCEDURES.get(name.lower().removeprefix("sys."))
    if procedure is None:
        raise NotFoundError(f"There is no procedure {name!r}; there are {', '.join(sorted(PROCEDURES))}.")
    context = ProcedureContext(catalog, DEFAULT_DATABASE, ProcedureThreads(), zone)
    with span("statement", kind=f"CALL {procedure.name}"):
        rows = procedure.call(context, _checked(procedure, arguments))
    return result_table(procedure.columns_of(rows), rows)


def typed_arguments(name: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Parse the arguments of a procedure from texts, as on a command line.

    Raises `InvalidOptionError` for a text that is not a value of the parameter's type.
    """
    procedure = PROCEDURES.get(name.lower().removeprefix("sys."))
    known = {} if procedure is None else {p.name.lower(): p.type for p in procedure.parameters}
    return {key: _parsed(key, text, known.get(key.lower(), "string")) for key, text in texts.items()}


def _parsed(key: str, text: str, kind: str) -> Any:
    if kind == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind in ("bigint", "int") and re.fullmatch("[+-]?[0-9]+", text):
        return int(text)
    if kind.startswith("map"):
        return table_options(text)
    if kind != "string":
        raise InvalidOptionError(f"{key} cannot be {text!r}: it must be of type {kind.upper()}.")
    return text


def _checked(procedure: Procedure, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by the names of the parameters, whichever case callers write; None means not given."""
    known = {p.name.lower(): p for p in procedure.parameters}
    given: dict[str, Any] = {}
    for key, value in arguments.items():
        parameter = known.get(key.lower())
        if parameter is None:
            raise InvalidOptionError(
                f"{procedure.name} has no argument {key!r}; it has {', '.join(p.name for p in procedure.parameters)}."
            )
        if value is not None:
            given[parameter.name] = _value(procedure, parameter, value)
    return given


def _value(procedure: Procedure, parameter: Parameter, value: Any) -> Any:
    wanted = _TYPES[parameter.type]
    if wanted is dict and isinstance(value, Mapping):
        return {str(k): str(v) for k, v in value.items()}
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise InvalidOptionError(
            f"{procedure.name}: {parameter.name} cannot be {value!r}: it must be of type {parameter.type.upper()}."
        )
    return value
