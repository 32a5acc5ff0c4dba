"""Entries of views in the metastore: a VIRTUAL_VIEW in the form of Paimon's Java. The entry's text is the query, its
columns have Hive's types, and its parameters are the options and the comment. Pure functions of Thrift's values.

Java stores only these. This package also stores the rest of the definition, as JSON (`catalog.view`) in a parameter.
The JSON is valid only while the entry has the same query and columns: other engines change the text, but not the JSON.

Views that Spark keeps in its own catalog have more parameters, see `spark_views`. The entries of Hive and of other
engines are like Java's. Source: `HiveCatalog` of Paimon.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pymetastore.hive_metastore import ttypes

from paimon_core.errors import (
    InvalidOptionError,
    PaimonError,
    UnfamiliarFormError,
    UnreadableFileError,
    UnsupportedFeatureError,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import decode_json_object, member
from paimon_core.spec.types import DataField
from paimon_sql.catalog.hive import spark_views
from paimon_sql.catalog.hive.entries import COMMENT, LONGEST_KEY, TAKEN_KEYS, Place, column_of, empty_entry
from paimon_sql.catalog.hive.format_tables import paimon_type
from paimon_sql.catalog.hive.settings import HiveSettings
from paimon_sql.catalog.view import View, encode_view, view_json, view_of

VIEW_TYPE = "VIRTUAL_VIEW"
_DEFINITION = "paimon-sql.view"
_OF_THE_METASTORE = frozenset(  # parameters that the metastore or Hive writes
    ("transient_lastDdlTime", "last_modified_by", "last_modified_time", "bucketing_version", "numFiles", "totalSize")
)
_TAKEN = _OF_THE_METASTORE | TAKEN_KEYS | {COMMENT, _DEFINITION}
_PRESTO = "presto_view"
_SERDE = "org.apache.hadoop.hive.serde2.MetadataTypedColumnsetSerDe"
_INPUT = "org.apache.hadoop.mapred.SequenceFileInputFormat"
_OUTPUT = "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"
_ADVICE = "drop the view and create it again"


def is_view(table: Any) -> bool:
    """Return whether an entry of the metastore is a view, of any engine."""
    return bool(table.tableType == VIEW_TYPE)


def check_view_kept(identifier: Identifier, view: View) -> None:
    """Raise `InvalidOptionError` for options that the metastore cannot store, `InvalidDataError` for texts that are not
    Unicode."""
    encode_view(view)
    for key in view.options:
        if len(key) > LONGEST_KEY:
            raise InvalidOptionError(
                f"The key {key[:40]!r}… of view {identifier} is longer than the {LONGEST_KEY} characters that the "
                "metastore keeps. "
                "Shorten it."
            )
        if key in _TAKEN:
            raise InvalidOptionError(
                f"View {identifier} cannot have the option {key!r}: the metastore uses this name itself."
            )


def new_view(identifier: Identifier, view: View, settings: HiveSettings, *, zones: bool) -> Any:
    """Return the metastore's entry for a new view."""
    table = empty_entry(identifier, Place("", is_external=False), settings)
    table.tableType, table.retention, table.sd.numBuckets = VIEW_TYPE, 0, -1
    table.sd.inputFormat, table.sd.outputFormat = _INPUT, _OUTPUT
    table.sd.serdeInfo = ttypes.SerDeInfo(serializationLib=_SERDE, parameters={"serialization.format": "1"})
    table.sd.skewedInfo = ttypes.SkewedInfo(skewedColNames=[], skewedColValues=[], skewedColValueLocationMaps={})
    return _defined(table, view, zones=zones)


def replaced_view(found: Any, view: View, *, zones: bool) -> Any:
    """Return the entry of a view with another definition."""
    return _defined(copy.deepcopy(found), view, zones=zones)


def renamed_view(found: Any, target: Identifier) -> Any:
    """Return the entry of a view with another name."""
    table = copy.deepcopy(found)
    table.dbName, table.tableName = target.database, target.table
    return table


def read_view(table: Any) -> View:
    """Read the view of an entry. Raises `UnreadableFileError`, and `UnsupportedFeatureError` for unknown column types
    or a view of an engine that does not write Spark's SQL."""
    name = f"{table.dbName}.{table.tableName}"
    parameters = dict(table.parameters or {})
    if parameters.get(_PRESTO, "").lower() == "true":
        raise UnsupportedFeatureError(
            f"View {name} cannot be read: it belongs to Trino or Presto, and its text in the metastore is not "
            "SQL. Read it with that engine, or create a view with another name for Spark."
        )
    query = table.viewOriginalText if table.viewExpandedText is None else table.viewExpandedText
    if query is None:
        raise UnfamiliarFormError(f"the metastore's entry of view {name}", "it has no query", _ADVICE)
    kept = _kept_definition(name, parameters.get(_DEFINITION), query, table.sd.cols or ())
    if kept is None and spark_views.is_sparks(parameters):
        return spark_views.spark_view(name, query, parameters, parameters.get(COMMENT))
    options = {k: v for k, v in parameters.items() if k not in _TAKEN}
    if kept is not None:
        return replace(kept, comment=parameters.get(COMMENT), options=options)
    return View(fields=_fields(name, table), query=query, comment=parameters.get(COMMENT), options=options)


def _defined(table: Any, view: View, *, zones: bool) -> Any:
    """Return an entry with the definition of a view, without the parts of an earlier definition."""
    table.viewOriginalText = table.viewExpandedText = view.query
    table.sd.cols = [column_of(f, zones=zones) for f in view.fields]
    table.parameters = {**view.options, _DEFINITION: _definition(view)}
    if view.comment is not None:
        table.parameters[COMMENT] = view.comment
    return table


def _definition(view: View) -> str:
    """Return the parts of a view that its entry lacks, as JSON.

    The JSON is ASCII, which every database can store. A long query could exceed the length of a parameter, so the JSON
    has only the query's digest. A dialect with the same text as the query is null.
    """
    node = view_json(replace(view, comment=None, options={}))
    dialects = {name: None if text == view.query else text for name, text in view.dialects.items()}
    return json.dumps({**node, "query": _digest(view.query), "dialects": dialects})


def _kept_definition(name: str, text: str | None, query: str, columns: Sequence[Any]) -> View | None:
    """Return the view in a parameter, or None if the parameter belongs to another query."""
    if text is None:
        return None
    place = f"the metastore's entry of view {name}"
    try:
        node = decode_json_object(place, text.encode())
        if node.get("query") != _digest(query):
            return None
        spelled = member(node, "dialects", dict)
    except UnreadableFileError as error:
        raise error.changed(advice=_ADVICE) from error
    except TypeError as error:
        cause = f"its parameter {_DEFINITION} is not the definition of a view ({error})"
        raise UnfamiliarFormError(place, cause, _ADVICE) from error
    dialects = {engine: query if text is None else text for engine, text in spelled.items()}
    view = view_of(place, {**node, "query": query, "dialects": dialects})
    names = [column.name.lower() for column in columns]
    return view if [f.name.lower() for f in view.fields] == names else None


def _digest(query: str) -> str:
    return hashlib.sha256(query.encode()).hexdigest()


def _fields(name: str, table: Any) -> tuple[DataField, ...]:
    """Return the columns that the metastore has for a view."""
    try:
        return tuple(
            DataField(id=n, name=c.name, type=paimon_type(c.type), description=c.comment or None)
            for n, c in enumerate(table.sd.cols or ())
        )
    except PaimonError as error:
        raise UnsupportedFeatureError(f"View {name} cannot be read: {error}") from error
