"""A catalog's views as Spark runs them, and Spark's views as a catalog stores them.

Spark's own part of a definition is in `View.settings` below `spark.`. A view of another engine has no such part. If it
has a query in Spark's dialect, Spark runs that query, and names its columns by position.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from paimon_core.errors import UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.io.load import check_no_secrets
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.view import SPARK_COLUMNS as _COLUMNS
from paimon_sql.catalog.view import SPARK_CONFIGS as _CONFIGS
from paimon_sql.catalog.view import SPARK_MODE as _MODE
from paimon_sql.catalog.view import View
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.views import ViewDefinition
from paimon_sql.spark.types import from_struct, read_struct, to_struct

DIALECT = "spark"
_COMMENT, _TYPE, _PLAIN = "comment", "table_type", ("VIEW", None)
_MODES = ("BINDING", "COMPENSATION")


def kept_view(definition: ViewDefinition, catalog: str, name: Identifier) -> View:
    """Return a view as a catalog stores it. The view's own catalog is stored without its name, because another session
    may use another name for it. Raises `UnsupportedFeatureError` for columns of types that Paimon does not have.
    """
    properties = dict(definition.properties)
    comment, kind = properties.pop(_COMMENT, None), properties.pop(_TYPE, None)
    if kind not in _PLAIN:
        raise UnsupportedFeatureError(f"View {name} cannot be stored: a Paimon catalog has no views of type {kind}.")
    check_no_secrets(str(name), properties)
    if definition.schema_mode not in _MODES:
        raise UnsupportedFeatureError(
            f"View {name} cannot be stored WITH SCHEMA {definition.schema_mode}: Spark updates only views of its own "
            "catalog when the columns of their tables change, so queries of this view would fail after such a change. "
            "Leave it out, and replace the view after a change."
        )
    try:
        fields = from_struct(read_struct(definition.schema_json))
    except UnsupportedFeatureError as e:
        raise UnsupportedFeatureError(f"View {name} cannot be stored: {e} Cast the column in its query.") from e
    return View(
        fields=fields,
        query=definition.query,
        dialects={DIALECT: definition.query},
        comment=comment,
        options=properties,
        catalog=None if definition.catalog == catalog else definition.catalog,
        namespace=definition.namespace,
        settings={
            _MODE: definition.schema_mode,
            _CONFIGS: json.dumps(dict(definition.settings), ensure_ascii=False),
            _COLUMNS: json.dumps(definition.query_columns, ensure_ascii=False),
        },
    )


def altered_view(old: View | None, new: View, name: Identifier) -> View:
    """Return the view that replaces `old`. If the query does not change, keep the queries and settings of other
    engines.
    """
    if old is None or new.query != spark_query(old, name):
        return new
    theirs = {k: v for k, v in old.settings.items() if not k.startswith(f"{DIALECT}.")}
    if is_sparks(old):
        return replace(new, query=old.query, dialects=old.dialects, settings={**theirs, **new.settings})
    return replace(new, query=old.query, dialects=old.dialects, namespace=old.namespace, settings=theirs)


def spark_view(view: View, catalog: str, name: Identifier) -> ViewDefinition:
    """Return a stored view as Spark runs it. Raises `UnfamiliarFormError`."""
    comment = {} if view.comment is None else {_COMMENT: view.comment}
    mode = view.settings.get(_MODE, _MODES[0])
    if mode not in _MODES:
        raise _unfamiliar(name, f"{_MODE} is {mode!r}")
    return ViewDefinition(
        to_struct(view.fields).json(),
        {**view.options, **comment},
        spark_query(view, name),
        view.catalog or catalog,
        view.namespace if view.namespace is not None else (name.database,),
        _texts(name, view.settings),
        mode,
        _names(name, view),
    )


def is_sparks(view: View) -> bool:
    """Return whether the definition has Spark's part."""
    return _COLUMNS in view.settings


def spark_query(view: View, name: Identifier) -> str:
    """Return the query of a view; a query of another engine gets the view's column names by position."""
    query = view.query_of(DIALECT)
    if is_sparks(view):
        return query
    columns = ", ".join(quoted_name(f.name) for f in view.fields)
    return f"SELECT * FROM (\n{query.rstrip().rstrip(';')}\n) AS {quoted_name(name.table)} ({columns})"  # noqa: S608  names are quoted


def _names(name: Identifier, view: View) -> tuple[str, ...]:
    if not is_sparks(view):
        return tuple(f.name for f in view.fields)
    found = _loaded(name, view.settings[_COLUMNS])
    if not isinstance(found, list) or not all(isinstance(n, str) for n in found):
        raise _unfamiliar(name, f"{_COLUMNS} is not a list of names")
    if found and len(found) != len(view.fields):
        raise _unfamiliar(name, f"{_COLUMNS} are {len(found)} names for {len(view.fields)} columns")
    return tuple(found)


def _texts(name: Identifier, settings: Mapping[str, str]) -> dict[str, str]:
    found = _loaded(name, settings.get(_CONFIGS, "{}"))
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        raise _unfamiliar(name, f"{_CONFIGS} does not map names to texts")
    return found


def _loaded(name: Identifier, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:
        raise _unfamiliar(name, f"a property that must be JSON is not ({e})") from e


def _unfamiliar(name: Identifier, cause: str) -> UnfamiliarFormError:
    return UnfamiliarFormError(f"of view {name}", cause, "drop the view and create it anew")
