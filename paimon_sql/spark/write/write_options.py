"""Options of one write: the rows that an overwrite replaces, and options of other formats' writers, which are not
ignored.

Spark and Paimon's Java connector ignore options that they do not define. Here, an option that decides which rows a
table has afterwards either takes effect, or the write fails with the option's name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from reprlib import repr as shortened
from types import MappingProxyType
from typing import NamedTuple

from paimon_core.arrow.evolution import spelled
from paimon_core.errors import InvalidOptionError
from paimon_core.expressions.predicate import Predicate, equals
from paimon_core.options import (
    MERGE_SCHEMA,
    MERGE_SCHEMA_EXPLICIT_CAST,
    MERGE_SCHEMA_TYPE_WIDENING,
    boolean,
)
from paimon_core.options.support import in_own_spelling
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField
from paimon_core.spec.value_texts import value_of_text
from paimon_sql.spark.read.read_options import refuse_foreign

_MERGING = (MERGE_SCHEMA, MERGE_SCHEMA_EXPLICIT_CAST, MERGE_SCHEMA_TYPE_WIDENING)
OF_FLINK = "dynamic-partition-overwrite"
_MODES = ("partitionoverwritemode", "overwrite-mode")  # options of Spark's and Delta's writers, and of Iceberg's
_SAYING = (OF_FLINK, *_MODES)
# the static partition of an INSERT OVERWRITE: Spark drops its values if the session overwrites dynamically
STATIC_PARTITION = "paimon-sql.static-partition"
CHECKED = "paimon-sql.checked"  # an option of streams: the digest of the checks of their rows


class _Foreign(NamedTuple):
    """An option of another format's writer, and the way to do the same here."""

    owner: str
    instead: str


_ADDS_COLUMNS = _Foreign("Delta Lake's", "set 'write.merge-schema' to 'true'")
_ONCE = _Foreign("Delta Lake's", "leave it out: a stream's foreachBatch writes each batch once")
_ISOLATION = _Foreign("Iceberg's", "leave it out: every commit checks the commits before it for conflicts")
_FOREIGN: Mapping[str, _Foreign] = MappingProxyType(
    {
        "replaceWhere": _Foreign(
            "Delta Lake's",
            "write df.writeTo(table).overwrite(condition), or INSERT INTO table REPLACE WHERE condition in SQL",
        ),
        "overwriteSchema": _Foreign("Delta Lake's", "write df.writeTo(table).createOrReplace()"),
        "mergeSchema": _ADDS_COLUMNS,
        "merge-schema": _ADDS_COLUMNS._replace(owner="Iceberg's"),
        "txnAppId": _ONCE,
        "txnVersion": _ONCE,
        "isolation-level": _ISOLATION,
        "validate-from-snapshot-id": _ISOLATION,
        "wap.id": _Foreign("Iceberg's", "write to a branch: t$branch_NAME"),
        "hoodie.datasource.write.operation": _Foreign(
            "Hudi's", "write df.mergeInto(table, condition), or DELETE in SQL"
        ),
        "hoodie.datasource.write.recordkey.field": _Foreign("Hudi's", "give the table a primary key"),
        "hoodie.datasource.write.precombine.field": _Foreign("Hudi's", "set 'sequence.field' of the table"),
    }
)


def merge_options(given: Mapping[str, str]) -> dict[str, str]:
    """Return only the given options that let rows add columns or widen types."""
    found = in_own_spelling(given)
    return {o.key: found[o.key] for o in _MERGING if found.get(o.key)}


def check_foreign(table: str, given: Mapping[str, str]) -> None:
    """Raise `UnsupportedFeatureError` for an option of another format's writer that decides which rows are written, and
    `InvalidOptionError` for a setting of the session.
    """
    refuse_foreign(table, given, _FOREIGN, "written")


def check_replaces_all(table: str, given: Mapping[str, str]) -> None:
    """Raise `UnsupportedFeatureError` for an option that keeps rows: the statement must replace the whole table."""
    check_foreign(table, {key: value for key, value in given.items() if key.lower() == "replacewhere"})


def overwrites_partitions(given: Mapping[str, str]) -> bool | None:
    """Return whether options limit an overwrite to the partitions of its rows; None if no option decides it.

    Raises `InvalidOptionError` for a value that is not valid, and for options that contradict each other.
    """
    said = {key: _is_dynamic(key, value) for key, value in given.items() if key.lower() in _SAYING}
    if len(set(said.values())) > 1:
        raise InvalidOptionError(f"The options {', '.join(sorted(said))} contradict each other: leave one out.")
    return next(iter(said.values()), None)


def of_overwrite(dynamic: bool, values: Mapping[str, str | None]) -> dict[str, str]:
    """Return the table options that define the rows that an INSERT OVERWRITE replaces. If `dynamic`, these are the
    partitions of the new rows; otherwise all rows with the `values` of the static partition.
    """
    return {OF_FLINK: str(dynamic).lower(), STATIC_PARTITION: json.dumps(dict(values))}


def is_insert(given: Mapping[str, str]) -> bool:
    """Return whether `of_overwrite` made the options, so that the write is an INSERT. A method with a condition has
    other options.
    """
    return STATIC_PARTITION in given


def static_partition(schema: TableSchema, given: Mapping[str, str], zone: tzinfo | None) -> Predicate | None:
    """Return the predicate of the partitions that the options `given` of a statement select; None for all partitions.
    Timestamps are in `zone`.

    Raises `InvalidOptionError` for a value that its column cannot have.
    """
    text = given.get(STATIC_PARTITION)
    if text is None:
        return None
    by_name = {f.name: f for f in schema.partition_fields}
    texts = {spelled(by_name, name): value for name, value in _texts(text).items()}
    if None in texts:
        raise _not_a_partition(text)
    values = {by_name[name]: value for name, value in texts.items() if name is not None}
    return equals([f.name for f in values], [_value(f, v, zone) for f, v in values.items()])


def _texts(text: str) -> dict[str, str | None]:
    try:
        node = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise _not_a_partition(text) from e
    if not isinstance(node, dict) or not all(isinstance(value, str | None) for value in node.values()):
        raise _not_a_partition(text)
    return node


def _not_a_partition(text: str) -> InvalidOptionError:
    return InvalidOptionError(
        f"Option '{STATIC_PARTITION}' cannot be {shortened(text)}, which does not name a partition of the table: leave "
        "it out, it is for statements. Name the partition in INSERT OVERWRITE … PARTITION (…)."
    )


def without_own(given: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a write without those for the write itself, which its table does not have."""
    return {key: value for key, value in given.items() if key not in (STATIC_PARTITION, CHECKED)}


def contradicts(given: Mapping[str, str], *, dynamic: bool) -> Sequence[str]:
    """Return the options that contradict the called method: `overwritePartitions` if `dynamic`, otherwise
    `overwrite`.
    """
    said = overwrites_partitions(given)
    if said is None or said == dynamic:
        return ()
    return sorted(key for key in given if key.lower() in _SAYING)


def is_of_one_write(key: str) -> bool:
    """Return whether an option is for one write only, so that the table created by the write does not store it."""
    return key.lower() in (*map(str.lower, _FOREIGN), *_MODES) or key == STATIC_PARTITION


def _is_dynamic(key: str, value: str) -> bool:
    text = value.strip().lower()
    try:
        if key.lower() == OF_FLINK:
            return boolean(value)
    except ValueError as e:
        raise InvalidOptionError(f"'{key}' cannot be {value!r}: it is {e}.") from e
    if text not in ("dynamic", "static"):
        raise InvalidOptionError(f"'{key}' cannot be {value!r}: it is dynamic or static.")
    return text == "dynamic"


def _value(field: DataField, text: str | None, zone: tzinfo | None) -> object:
    if text is None:
        return None
    try:
        return value_of_text(field.type, text, zone)
    except ValueError as e:
        raise InvalidOptionError(f"Partition column {field.name!r} cannot be {text!r}: it is {field.type}.") from e
