"""The data files of one bucket as streams of rows: file after file, or the runs of a section merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from paimon_core.errors import CorruptFileError, DataFileMissingError, InvalidDataError, UnsupportedFeatureError
from paimon_core.expressions.predicate import Predicate
from paimon_core.formats.arrow_types import KEY_PREFIX, key_value_fields
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.registry import format_of_file
from paimon_core.lsm.engines.registry import merge_engine
from paimon_core.lsm.merge import MergeSpec, merge_runs
from paimon_core.lsm.runs import SortedRun
from paimon_core.options import SEQUENCE_FIELD, Option
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore

SEQUENCE_ORDER = Option("sequence.field.sort-order", str.lower, "ascending", "Which sequence field value is the newer.")


@dataclass(frozen=True, slots=True)
class BucketFiles:
    """Where the files of a bucket lie, for reading some of their columns."""

    store: TableStore
    bucket_dir: str
    fields: tuple[DataField, ...]
    predicate: Predicate | None = None

    def read(self, files: Sequence[DataFileMeta]) -> Iterator[pa.RecordBatch]:
        """The rows of the files, one file after the other. Raises `DataFileMissingError`, `CorruptFileError`."""
        for file in files:
            path = data_file_path(self.bucket_dir, file)
            stored = partial(stored_fields, self.store, file.schema_id)
            request = ReadRequest(path, self.fields, self.predicate, stored=stored)
            try:
                yield from format_of_file(file.file_name).read(self.store.io, request)
            except FileNotFoundError as e:
                raise DataFileMissingError(
                    f"Data file {path} of table {self.store.root} is missing: it was deleted, or its snapshot expired "
                    f"while it was read. Run the query again, or roll back to a snapshot whose files are there."
                ) from e


def merge_section(files: BucketFiles, section: Sequence[SortedRun], spec: MergeSpec) -> Iterator[pa.RecordBatch]:
    """Merge the runs of a section, whose columns include keys, sequence numbers and row kinds."""
    oldest_first = sorted(section, key=lambda r: max(f.max_sequence_number for f in r.files))
    try:
        yield from merge_runs([files.read(r.files) for r in oldest_first], spec)
    except InvalidDataError as e:
        names = " or ".join(f.file_name for r in oldest_first for f in r.files)
        raise CorruptFileError(f"{files.bucket_dir}/{names}", f"it is not what metadata says ({e})") from e


def merge_spec(store: TableStore, *, drop_delete: bool) -> MergeSpec:
    """How rows of the table are merged. Raises `UnsupportedFeatureError` naming the merge engine."""
    if store.options[SEQUENCE_ORDER] != "ascending":
        raise UnsupportedFeatureError(
            f"'{SEQUENCE_ORDER.key}' = '{store.options[SEQUENCE_ORDER]}': this version merges in ascending order only."
        )
    return MergeSpec(
        key_names=tuple(KEY_PREFIX + k for k in store.schema.trimmed_primary_keys),
        engine=merge_engine(store.options),
        sequence_fields=store.options[SEQUENCE_FIELD],
        drop_delete=drop_delete,
    )


def file_fields(store: TableStore) -> tuple[DataField, ...]:
    """The columns of the table's data files."""
    return fields_of(store.schema)


def fields_of(schema: TableSchema) -> tuple[DataField, ...]:
    """The columns of data files that are written with a schema."""
    return key_value_fields(schema.fields, schema.key_fields) if schema.primary_keys else schema.fields


def stored_fields(store: TableStore, schema_id: int) -> tuple[DataField, ...]:
    """The columns of a file that was written with a version of the schema, which is read once."""
    if schema_id == store.schema.id:
        return file_fields(store)
    return store.cache.get(store.paths.schema(schema_id), lambda: fields_of(read_schema(store, schema_id)))
