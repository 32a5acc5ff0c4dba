"""Views of Spark's own catalog in a metastore, in the parameters that Spark writes.

    spark.sql.sources.schema        its columns as JSON; long JSON is in parts: `.numParts`, `.part.N`
    view.catalogAndNamespace        the current catalog and namespace of its definition: `.numParts`, `.part.N`
    view.query.out                  names of the columns of the query: `.numCols`, `.col.N`
    view.sqlConfig.NAME             settings of the definition
    view.schemaMode                 the effect of changes to its tables

The catalog that Spark calls `spark_catalog` is the metastore. So the tables of such a view are in the same catalog as
the view. Source: `CatalogTable`, `HiveExternalCatalog` of Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from paimon_core.errors import PaimonError, UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.spec.types import CollectionType, DataField, DataType, Kind, MapType, RowType, parse_type
from paimon_sql.catalog.view import SPARK_COLUMNS, SPARK_CONFIGS, SPARK_MODE, View

_SCHEMA, _VERSION = "spark.sql.sources.schema", "spark.sql.create.version"
_PLACE, _OUTPUT, _CONFIG, _MODE = "view.catalogAndNamespace", "view.query.out", "view.sqlConfig.", "view.schemaMode"
_SPARKS = re.compile(r"spark\.sql\.|view\.")
_OF_THE_METASTORE = frozenset(("transient_lastDdlTime", "comment"))
_SESSION_CATALOG = "spark_catalog"
_STRICT, _COMPENSATING = "BINDING", "COMPENSATION"
_MOST_PARTS = 10_000
_EXACT_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
_TYPES = {
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INT",
    "long": "BIGINT",
    "binary": "BYTES",
    "timestamp": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "timestamp_ntz": "TIMESTAMP(6)",
}
_PLAIN = re.compile(r"boolean|float|double|string|date|(decimal|char|varchar)\([0-9, ]+\)|variant")


def is_sparks(parameters: Mapping[str, str]) -> bool:
    """Return whether Spark's own catalog wrote the parameters of a view."""
    return _VERSION in parameters or f"{_PLACE}.numParts" in parameters


def spark_view(name: str, query: str, parameters: Mapping[str, str], comment: str | None) -> View:
    """Return a view of Spark's catalog.

    Raises `UnfamiliarFormError`, and `UnsupportedFeatureError` for columns of types that Paimon does not have."""
    try:
        place = _numbered(parameters, f"{_PLACE}.numParts", f"{_PLACE}.part.")
        columns = _numbered(parameters, f"{_OUTPUT}.numCols", f"{_OUTPUT}.col.")
        fields = _fields(json.loads(_schema(parameters)))
    except UnsupportedFeatureError as error:
        raise UnsupportedFeatureError(f"View {name} cannot be read: {error}") from error
    except (KeyError, TypeError, ValueError, RecursionError, PaimonError) as error:
        cause = f"the parameters that Spark wrote cannot be read ({type(error).__name__}: {error})"
        raise UnfamiliarFormError(
            f"the metastore's entry of view {name}", cause, "create it again with Spark"
        ) from error
    settings = {k.removeprefix(_CONFIG): v for k, v in parameters.items() if k.startswith(_CONFIG)}
    mode = parameters.get(_MODE, _STRICT)
    return View(
        fields=fields,
        query=query,
        dialects={"spark": query},
        comment=comment,
        options={k: v for k, v in parameters.items() if not (_SPARKS.match(k) or k in _OF_THE_METASTORE)},
        catalog=place[0] if place and place[0] != _SESSION_CATALOG else None,
        namespace=tuple(place[1:]) if place else None,
        settings={
            SPARK_MODE: mode if mode == _STRICT else _COMPENSATING,  # the view follows changes of its tables
            SPARK_CONFIGS: json.dumps(settings),
            SPARK_COLUMNS: json.dumps(columns),
        },
    )


def _numbered(parameters: Mapping[str, str], count: str, each: str) -> list[str]:
    number = int(parameters.get(count, "0"))
    if not 0 <= number <= _MOST_PARTS:
        raise ValueError(f"{count} is {number}")
    return [parameters[f"{each}{n}"] for n in range(number)]


def _schema(parameters: Mapping[str, str]) -> str:
    whole = parameters.get(_SCHEMA)
    return whole if whole is not None else "".join(_numbered(parameters, f"{_SCHEMA}.numParts", f"{_SCHEMA}.part."))


def _fields(struct: Any) -> tuple[DataField, ...]:
    """Return the fields in the JSON of a struct type of Spark."""
    return tuple(
        DataField(
            id=n,
            name=str(field["name"]),
            type=_type(_exact(field)).with_nullable(bool(field["nullable"])),
            description=field.get("metadata", {}).get("comment"),
        )
        for n, field in enumerate(struct["fields"])
    )


def _exact(field: Any) -> Any:
    """Return the JSON of a type. For CHAR and VARCHAR, it is in the metadata of a text column."""
    return field.get("metadata", {}).get(_EXACT_TYPE) or field["type"]


def _type(node: Any) -> DataType:
    if isinstance(node, str):
        if node not in _TYPES and _PLAIN.fullmatch(node) is None:
            raise UnsupportedFeatureError(
                f"it has a column of Spark's type {node[:100]!r}, which Paimon does not have."
            )
        return parse_type(_TYPES.get(node, node.upper()))
    kind = node["type"]
    if kind == "array":
        return CollectionType(Kind.ARRAY, element=_type(node["elementType"]).with_nullable(bool(node["containsNull"])))
    if kind == "map":
        value = _type(node["valueType"]).with_nullable(bool(node["valueContainsNull"]))
        return MapType(key=_type(node["keyType"]).with_nullable(False), value=value)
    if kind == "struct":
        return RowType(fields=_fields(node))
    raise UnsupportedFeatureError(f"it has a column of Spark's type {str(kind)[:100]!r}, which Paimon does not have.")
