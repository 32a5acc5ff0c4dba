"""Advice on tables that some versions of other engines cannot read, or read with wrong rows.

`docs/interop.md` lists the faults that were found by reading our tables with the version in question. Faults of types
and of data evolution follow from the sources of the releases: the first version with a type is the first that parses
its schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pyarrow.compute as pc

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.formats.parquet.encodings import WRITER_VERSION
from paimon_core.maintenance.advice import Advice, Figures
from paimon_core.options import (
    DATA_EVOLUTION,
    DELETION_VECTORS,
    FILE_FORMAT,
    MANIFEST_FORMAT,
    MERGE_ENGINE,
    PARTITION_LEGACY_NAME,
    ROW_TRACKING,
)
from paimon_core.spec.identifier import sql_string
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import Kind, VectorType, nested_types
from paimon_core.store.live_table import run_counts
from paimon_core.store.table_store import TableStore

PAIMON, PYPAIMON = "Paimon", "pypaimon"
_NAMES = {name.lower(): name for name in (PAIMON, PYPAIMON)}
_READER = re.compile(r"\s*([a-z]+)\s+(\d{1,4}(?:\.\d{1,4}){1,3})\s*", re.IGNORECASE)
_AGGREGATE = "aggregate-function"
_COMPACT = "{call}.compact(table => {name}, compact_strategy => 'full')"


@dataclass(frozen=True, slots=True)
class ReadingEngine:
    """An engine that reads the table: `Paimon` is the Java library of Spark, Flink, Hive and Trino."""

    name: str
    version: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name} {'.'.join(map(str, self.version))}"


@dataclass(frozen=True, slots=True)
class ReaderFault:
    """A fault of an engine with some tables, in the versions from `since` to before `until`; () stands for no bound.

    `what` follows the name of the engine in the message.
    """

    name: str
    since: tuple[int, ...]
    until: tuple[int, ...]
    concerns: Callable[[TableSchema, Figures], bool]
    what: str
    reason: str
    statement: str

    def is_of(self, reader: ReadingEngine) -> bool:
        """Return whether the version has the fault."""
        version = reader.version
        return reader.name == self.name and self.since <= version and (not self.until or version < self.until)


def readers_of(text: str) -> tuple[ReadingEngine, ...]:
    """Return the readers in a text such as `Paimon 0.7, pypaimon 1.4.2`. Raises `InvalidOptionError`."""
    found = []
    for part in text.split(","):
        match = _READER.fullmatch(part)
        name = _NAMES.get(match[1].lower()) if match else None
        if match is None or name is None:
            raise InvalidOptionError(
                f"{part.strip()!r} is not a valid reader: write {' or '.join(_NAMES.values())} and a version, such as "
                f"'{PAIMON} 0.7, {PYPAIMON} 1.4.2'."
            )
        found.append(ReadingEngine(name, tuple(map(int, match[2].split(".")))))
    return tuple(found)


def advise_for_readers(store: TableStore, figures: Figures, readers: tuple[ReadingEngine, ...]) -> Iterator[Advice]:
    """Yield the advice for tables that some readers must read."""
    for reader in readers if figures.snapshots else ():
        for fault in _FAULTS:
            if fault.is_of(reader) and fault.concerns(store.schema, figures):
                yield Advice(f"{reader} {fault.what}", fault.reason, fault.statement)


def _every_table(_: TableSchema, __: Figures) -> bool:
    return True


def _shows_hidden_rows(_: TableSchema, figures: Figures) -> bool:
    """Whether files have rows that only a compaction removes."""
    options = figures.options
    hides = figures.has_primary_key and (options[DELETION_VECTORS] or options[MERGE_ENGINE] == "first-row")
    return figures.deleted > 0 or (hides and _is_unmerged(figures))


def _merges_fields(_: TableSchema, figures: Figures) -> bool:
    engine = figures.options[MERGE_ENGINE] if figures.has_primary_key else ""
    return engine in ("aggregation", "partial-update") and _is_unmerged(figures)


def _is_unmerged(figures: Figures) -> bool:
    has_level_0 = bool(pc.any(pc.equal(figures.files["level"], 0)).as_py())
    return has_level_0 or any(count > 1 for count in run_counts(figures.files).values())


def _has_numbers_of_days(schema: TableSchema, figures: Figures) -> bool:
    dates = any(schema.field_by_name[key].type.kind is Kind.DATE for key in schema.partition_keys)
    return dates and figures.options[PARTITION_LEGACY_NAME]


def _evolved_orc_times(schema: TableSchema, figures: Figures) -> bool:
    times = any(field.type.kind is Kind.TIMESTAMP for field in schema.fields)
    return times and schema.id > 0 and figures.options[FILE_FORMAT] == "orc"


def _packs_integers(_: TableSchema, figures: Figures) -> bool:
    return figures.options[FILE_FORMAT] == "parquet" and figures.options[WRITER_VERSION] in ("v2", "parquet_2_0")


def _has_variant(schema: TableSchema, _: Figures) -> bool:
    return _has_kind(schema, Kind.VARIANT)


def _has_blob(schema: TableSchema, _: Figures) -> bool:
    return _has_kind(schema, Kind.BLOB)


def _keeps_packs(schema: TableSchema, figures: Figures) -> bool:
    """Whether the values of BLOBs are in packs."""
    return figures.has_primary_key and _has_kind(schema, Kind.BLOB)


def _merges_packs(schema: TableSchema, figures: Figures) -> bool:
    return _keeps_packs(schema, figures) and figures.options[MERGE_ENGINE] != "deduplicate"


def _counts(_: TableSchema, figures: Figures) -> bool:
    return any(
        key.startswith("fields.") and key.endswith(_AGGREGATE) and value.strip().lower() == "count"
        for key, value in figures.options.values.items()
    )


def _has_other_manifests(_: TableSchema, figures: Figures) -> bool:
    return figures.options[MANIFEST_FORMAT] != "avro"


def _has_vector(schema: TableSchema, _: Figures) -> bool:
    return any(isinstance(each, VectorType) for field in schema.fields for each in nested_types(field.type))


def _has_kind(schema: TableSchema, kind: Kind) -> bool:
    return any(each.kind is kind for field in schema.fields for each in nested_types(field.type))


def _evolves(_: TableSchema, figures: Figures) -> bool:
    return figures.options[DATA_EVOLUTION]


def _tracks_rows(_: TableSchema, figures: Figures) -> bool:
    return figures.options[ROW_TRACKING] and not figures.options[DATA_EVOLUTION]


def _unknown_type(
    name: str, until: tuple[int, ...], concerns: Callable[[TableSchema, Figures], bool], kind: str
) -> ReaderFault:
    """Return the fault of versions that cannot parse a type in the table's schema."""
    release = ".".join(map(str, (*until, 0)))
    return ReaderFault(
        *(name, (), until, concerns),
        f"does not read the table, which has a column of type {kind}",
        "it does not know the type, so it cannot read the table's schema",
        f"-- upgrade {name} to {release} or later",
    )


_FAULTS = (
    _unknown_type(PAIMON, (1, 1), _has_variant, "VARIANT"),
    _unknown_type(PAIMON, (1, 4), _has_blob, "BLOB"),
    _unknown_type(PAIMON, (1, 4), _has_vector, "VECTOR"),
    _unknown_type(PYPAIMON, (2, 0), _has_variant, "VARIANT"),
    _unknown_type(PYPAIMON, (2, 0), _has_vector, "VECTOR"),
    ReaderFault(
        *(PAIMON, (1, 4), (2, 0), _keeps_packs),
        "does not read the BLOBs of the table",
        "BLOBs of a table with a primary key are in packs, which came with Paimon 2.0",
        "-- upgrade Paimon to 2.0.0 or later",
    ),
    ReaderFault(
        *(PAIMON, (2, 0), (2, 1), _merges_packs),
        "does not read the table",
        "in a table with BLOBs and a primary key, it knows the merge engine 'deduplicate' only",
        "-- upgrade Paimon to 2.1.0 or later",
    ),
    ReaderFault(
        *(PAIMON, (), (), _counts),
        "does not read the table",
        "it has no aggregate function 'count'",
        "-- create the table again with the function 'sum', and insert a 1 for each row to count",
    ),
    ReaderFault(
        *(PAIMON, (2, 1), (), _has_other_manifests),
        "does not read manifests that are not Avro",
        f"it has no option '{MANIFEST_FORMAT.key}'; older manifests stay as they are until they are rewritten",
        f"ALTER TABLE {{table}} UNSET TBLPROPERTIES ({sql_string(MANIFEST_FORMAT.key)})",
    ),
    ReaderFault(
        *(PAIMON, (), (1, 3), _evolves),
        "reads parts of rows as rows",
        "with 'data-evolution.enabled' the columns of a row may be in several files, which it does not know",
        "-- upgrade Paimon to 1.3.0 or later",
    ),
    ReaderFault(
        *(PAIMON, (), (1, 3), _tracks_rows),
        "reads the rows, but knows no _ROW_ID, and its compactions lose the ids",
        "row tracking came with Paimon 1.3",
        "-- upgrade Paimon to 1.3.0 or later",
    ),
    ReaderFault(
        *(PAIMON, (), (0, 5), _every_table),
        "reads no table after a commit of paimon-sql",
        "it cannot decompress manifests with ZSTD",
        "-- upgrade Paimon to 0.6.0 or later",
    ),
    ReaderFault(
        *(PAIMON, (0, 5), (0, 6), _every_table),
        "reads no table after a commit of paimon-sql",
        "it cannot read manifest lists with later columns",
        "-- upgrade Paimon to 0.6.0 or later",
    ),
    ReaderFault(
        *(PAIMON, (0, 6), (0, 8), _shows_hidden_rows),
        "shows rows that are deleted or replaced",
        "it ignores deletion vectors, and the first row of a key, before a compaction",
        _COMPACT,
    ),
    ReaderFault(
        *(PAIMON, (), (2, 1), _packs_integers),
        "does not read all columns of the Parquet files",
        "before 1.1 it does not know the encoding of version 2, and 2.0 loses its position where it skips rows; files "
        "that are already written stay as they are",
        f"ALTER TABLE {{table}} UNSET TBLPROPERTIES ({sql_string(WRITER_VERSION.key)})",
    ),
    ReaderFault(
        *(PYPAIMON, (), (2,), _merges_fields),
        "reads other values of keys with several rows",
        "before a compaction, it returns the last row of a key instead of merging rows",
        _COMPACT,
    ),
    ReaderFault(
        *(PYPAIMON, (), (2, 1), _has_numbers_of_days),
        "does not find the files of partitions by DATE",
        "it searches them in folders with dates, and Paimon's default is a number of days",
        "-- upgrade pypaimon to 2.1.0 or later",
    ),
    ReaderFault(
        *(PYPAIMON, (), (2,), _evolved_orc_times),
        "does not read TIMESTAMP columns in ORC files of several schemas",
        "it reads times of older files as milliseconds, and times of newer files as nanoseconds",
        "-- upgrade pypaimon to 2.0.0 or later",
    ),
)
