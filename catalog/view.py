"""The definition of a view in the form of Paimon's catalogs: one JSON object in UTF-8, written by Java's `ViewSchema`.

    {"fields": [{"id", "name", "type" (`spec.types`), "description"}], "query": SQL, "dialects": {engine: SQL},
     "comment", "options": {text: text}}

Java does not store the catalog and database in which a view was defined; it resolves the view's names in the catalog
and database of the query. This package adds options, which every engine keeps, with the prefix `paimon-sql.view.`:
`catalog` (absent: the view's own catalog), `namespace` (a JSON array) and what an engine needs to run its query as it
was written (`ENGINE.…`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import CorruptFileError, InvalidSchemaError, UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.spec.json_object import decode_json_object, encode_json_object, member, text_map
from paimon_core.spec.types import DataField, parse_field

_OURS = "paimon-sql.view."
_CATALOG, _NAMESPACE = "catalog", "namespace"
_ADVICE = "restore it from a backup, or drop the view and create it again"
_ANEW = "upgrade paimon-sql if a later version wrote it, or drop the view and create it again"
# Spark's keys in the `settings` of its own views: the effect of changes to the view's tables, the settings of the
# definition (JSON), and the column names of the query (JSON).
SPARK_MODE, SPARK_CONFIGS, SPARK_COLUMNS = "spark.schema-mode", "spark.sql-configs", "spark.query-columns"


@dataclass(frozen=True, kw_only=True)
class View:
    """A named query: its columns, and its SQL in the dialects of engines.

    Names in the query belong to `catalog` (None means the view's own catalog) and `namespace` (None means unknown, so
    the view's database). `settings` are what an engine needs to run the query as it was written; each name starts with
    the engine (`spark.schema-mode`). `options` are set by the user.
    """

    fields: tuple[DataField, ...]
    query: str
    dialects: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    catalog: str | None = None
    namespace: tuple[str, ...] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def query_of(self, dialect: str) -> str:
        """Return the query in the dialect of an engine, or the query that was written first if the view lacks the
        dialect.
        """
        return self.dialects.get(dialect, self.query)


def encode_view(view: View) -> bytes:
    """Return the JSON of a view, indented. Raises `InvalidDataError` for a text that cannot be stored in a file."""
    return encode_json_object(view_json(view))


def view_json(view: View) -> dict[str, Any]:
    """Return the JSON object of a view."""
    ours = {_OURS + name: value for name, value in view.settings.items()}
    if view.catalog is not None:
        ours[_OURS + _CATALOG] = view.catalog
    if view.namespace is not None:
        ours[_OURS + _NAMESPACE] = json.dumps(view.namespace, ensure_ascii=False)
    node: dict[str, Any] = {
        "fields": [f.json() for f in view.fields],
        "query": view.query,
        "dialects": dict(view.dialects),
        "options": {**view.options, **ours},
    }
    if view.comment is not None:
        node["comment"] = view.comment
    return node


def decode_view(path: str, data: bytes) -> View:
    """Return the view in the JSON of a file or of a database's row; `path` names the source in errors.

    Raises `CorruptFileError`, and `UnsupportedFeatureError` for unknown types of columns.
    """
    try:
        return view_of(path, decode_json_object(path, data))
    except CorruptFileError as e:
        raise e.changed(advice=_ADVICE) from e
    except UnfamiliarFormError as e:
        raise e.changed(advice=_ANEW) from e


def view_of(path: str, node: dict[str, Any]) -> View:
    """Return the view in a JSON object. Raises the same errors as `decode_view`."""
    try:
        options = text_map(node, "options")
        ours = {k.removeprefix(_OURS): v for k, v in options.items() if k.startswith(_OURS)}
        view = View(
            fields=tuple(parse_field(f) for f in member(node, "fields", list)),
            query=member(node, "query", str),
            dialects=text_map(node, "dialects"),
            comment=member(node, "comment", str | None, None),
            options={k: v for k, v in options.items() if not k.startswith(_OURS)},
            catalog=ours.pop(_CATALOG, None),
            namespace=_names(ours.pop(_NAMESPACE, None)),
        )
        return replace(view, settings=ours)
    except UnsupportedFeatureError as e:
        raise UnsupportedFeatureError(f"The view of {path} cannot be used: {e}") from e
    except (InvalidSchemaError, TypeError) as e:
        raise UnfamiliarFormError(path, f"as a view, {e}", _ANEW) from e


def _names(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    try:
        names = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise TypeError(f"{_OURS}{_NAMESPACE} is not valid JSON ({e})") from e
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise TypeError(f"{_OURS}{_NAMESPACE} is not an array of names")
    return tuple(names)
