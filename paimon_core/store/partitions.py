"""PartitionFilter: select partitions by their values, or by a manifest's statistics of partitions."""

from __future__ import annotations

import ast
import struct
from collections.abc import Iterable, Sequence
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.dataclass import dataclass
from paimon_core.errors import UnfamiliarFormError
from paimon_core.expressions.predicate import Predicate
from paimon_core.expressions.prune import may_match
from paimon_core.lazy import ImportedOnCall, cached_property, regex
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.kinds import BINARIES
from paimon_core.spec.manifest import ManifestFileMeta
from paimon_core.spec.paths import unescape_path_name
from paimon_core.spec.stats import UNKNOWN, ColumnStats, bound_order, decode_stats
from paimon_core.spec.types import STRING, DataField, DataType, Kind

if TYPE_CHECKING:
    from paimon_core.arrow.casts import cast_column
else:
    cast_column = ImportedOnCall("paimon_core.arrow.casts", "cast_column")

# the text of bytes in Python, in which pypaimon names folders
_BYTES_OF_PYTHON = regex(
    r"""b(?:'(?:[ -&(-\[\]-~]|\\[tnr\\']|\\x[0-9a-f]{2})*'|"(?:[ -!#-\[\]-~]|\\[tnr\\]|\\x[0-9a-f]{2})*")"""
)
_DAYS = regex(r"-?[0-9]{1,7}")


@dataclass(frozen=True)
class PartitionFilter:
    """A filter of partitions.

    They must satisfy `predicate` (on partition columns) and be in `partitions`, if these are given.
    """

    fields: tuple[DataField, ...]
    predicate: Predicate | None = None
    partitions: frozenset[bytes] | None = None

    def holds(self, partition: bytes) -> bool:
        """Return whether a partition is selected."""
        if self.partitions is not None and partition not in self.partitions:
            return False
        return self.predicate is None or self._matches(partition)

    def may_hold(self, manifest: ManifestFileMeta) -> bool:
        """Return whether a manifest may have entries of selected partitions."""
        if not self.fields or (self.predicate is None and self.partitions is None):
            return self.partitions != frozenset()
        columns, rows = self._bounds(manifest), manifest.num_added_files + manifest.num_deleted_files
        if self.partitions is not None and not any(_within(v, columns) for v in self._values):
            return False
        by_name = {f.name: c for f, c in zip(self.fields, columns, strict=True)}
        return self.predicate is None or may_match(self.predicate, lambda name: by_name.get(name, UNKNOWN), rows)

    def columns(self, partition: bytes, row_count: int = 1) -> dict[str, ColumnStats]:
        """Return the statistics of rows of one partition, by partition column.

        Each value is its own minimum and maximum.
        """
        values = zip(self.fields, self._decode(partition), strict=True)
        return {f.name: ColumnStats(v, v, row_count if v is None else 0) for f, v in values}

    @cached_property
    def _values(self) -> list[tuple[Any, ...]]:
        return [self._decode(p) for p in self.partitions or ()]

    @cached_property
    def _known(self) -> dict[bytes, bool]:
        return {}

    def _matches(self, partition: bytes) -> bool:
        known = self._known.get(partition)
        if known is None:
            columns = self.columns(partition)
            known = self.predicate is None or may_match(self.predicate, lambda name: columns.get(name, UNKNOWN), 1)
            self._known[partition] = known
        return known

    def _decode(self, partition: bytes) -> tuple[Any, ...]:
        try:
            return decode_row([f.type for f in self.fields], partition)
        except (ValueError, struct.error) as e:
            raise UnfamiliarFormError("<manifest>", f"a partition in it does not decode ({e})") from e

    def _bounds(self, manifest: ManifestFileMeta) -> tuple[ColumnStats, ...]:
        """Return the statistics of partition columns.

        pypaimon 1.3.2 does not count NULLs. So a column with neither bounds nor NULLs is unknown: each entry must have
        a value or NULL."""
        columns = decode_stats([f.type for f in self.fields], manifest.partition_stats)
        return tuple(UNKNOWN if c.minimum is None and c.maximum is None and not c.null_count else c for c in columns)


def partition_value(fields: Sequence[DataField], bucket_dir: str, default_name: str, name: str) -> pa.Scalar | None:
    """Return the value of a partition column, from the names of the folders above a bucket. Return None for any other
    column.

    This is needed because files of other writers may lack partition columns. Raises `InvalidDataError` for a value that
    does not fit the column's type.
    """
    folders = bucket_dir.split("/")[-1 - len(fields) : -1]
    pairs = [tuple(map(unescape_path_name, name.split("=", 1))) for name in folders]
    if [p[0] for p in pairs] != [f.name for f in fields]:
        return None
    found = next(((f, text) for f, (key, text) in zip(fields, pairs, strict=True) if key == name), None)
    if found is None:
        return None
    field, text = found
    if field.type.kind is Kind.CHAR:  # as it was written: with spaces at its end, or without them
        return pa.scalar(None if text == default_name else text, pa.string())
    if field.type.kind in BINARIES and _BYTES_OF_PYTHON.fullmatch(text):
        return pa.scalar(ast.literal_eval(text), pa.binary())
    return typed_texts([None if text == default_name else text], field.type)[0]


def typed_texts(texts: Sequence[str | None], data_type: DataType, zone: tzinfo | None = UTC) -> pa.Array:
    """Parse the values in names of folders.

    A DATE may be its epoch days, see `value_texts`. An instant in Paimon's form (`2024-06-01T08:00`) is in UTC. An
    instant in SQL's form (`2024-06-01 08:00:00`) is in `zone`, or in the process's zone without one. Raises
    `InvalidDataError`.
    """
    if data_type.kind is Kind.DATE and all(t is None or _DAYS.fullmatch(t) for t in texts):
        return pa.array([None if t is None else int(t) for t in texts], pa.int32()).cast(pa.date32())
    spelled = pa.array(texts, pa.string())
    if data_type.kind is not Kind.TIMESTAMP_LTZ:
        return cast_column(spelled, STRING, data_type)
    as_paimon = pc.fill_null(pc.match_substring(spelled, "T"), False)
    in_utc, in_zone = (cast_column(spelled, STRING, data_type, z) for z in (UTC, zone))
    return pc.if_else(as_paimon, in_utc, in_zone)


def only_partitions(fields: tuple[DataField, ...], partitions: Iterable[bytes]) -> PartitionFilter:
    """Return the filter for a set of partitions."""
    return PartitionFilter(fields, partitions=frozenset(partitions))


def _within(values: tuple[Any, ...], columns: tuple[ColumnStats, ...]) -> bool:
    return all(_between(v, c) for v, c in zip(values, columns, strict=True))


def _between(value: Any, column: ColumnStats) -> bool:
    if value is None:
        return column.null_count != 0
    low, high, order = column.minimum, column.maximum, bound_order(value)
    return (low is None or bound_order(low) <= order) and (high is None or order <= bound_order(high))
