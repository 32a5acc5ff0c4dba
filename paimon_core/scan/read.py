"""Reading the rows of a split: as files hold them, or merged by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from paimon_core.expressions.arrow import to_arrow
from paimon_core.expressions.predicate import Predicate, only_on, renamed
from paimon_core.formats.arrow_types import FILE_PATH, KEY_PREFIX, ROW_INDEX, arrow_schema, key_value_fields
from paimon_core.lsm.engines.registry import columns_to_merge
from paimon_core.lsm.runs import sections
from paimon_core.scan.metadata_columns import metadata_column, metadata_fields
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.split import DataSplit, DeletionFile
from paimon_core.spec.types import DataField
from paimon_core.store.bucket_files import BucketFiles, merge_section, merge_spec
from paimon_core.store.table_store import TableStore


def read_split(
    store: TableStore, split: DataSplit, columns: Sequence[str], predicate: Predicate | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a split: batches of the named columns (one or more), in that order.

    The conjuncts of `predicate` on these columns leave rows out; rows that do not match may still come.
    Raises `DataFileMissingError`, `CorruptFileError`, `StorageError`.
    """
    extra = {f.name: f for f in metadata_fields(store.schema) if f.name in columns}
    if not extra:
        yield from _rows(store, split, columns, predicate)
        return
    plain = [c for c in columns if c not in extra] or [store.schema.fields[0].name]
    placed = extra.keys() & {FILE_PATH, ROW_INDEX}
    parts = _by_file(store, split, plain) if placed else ((b, "") for b in _rows(store, split, plain, predicate))
    usable = only_on(predicate, plain) if predicate else None
    condition = to_arrow(usable, arrow_schema(store.schema.select(tuple(plain)))) if usable else None
    for batch, path in parts:
        rows = batch if condition is None else batch.filter(condition)
        if rows.num_rows:
            places = {n: metadata_column(f, store.schema, split, path, rows) for n, f in extra.items()}
            arrays = [places[c] if c in extra else rows.column(c) for c in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _rows(
    store: TableStore, split: DataSplit, columns: Sequence[str], predicate: Predicate | None
) -> Iterator[pa.RecordBatch]:
    fields = store.schema.select(tuple(columns))
    usable = only_on(predicate, columns) if predicate else None
    deletes = store.has_primary_key and any(f.delete_row_count != 0 for f in split.files)
    if split.needs_merge or deletes:
        batches = _merged(store, split, fields, usable)
    else:
        batches = BucketFiles(store, split.bucket_dir, fields, usable, _deletions(split)).read(split.files)
    condition = to_arrow(usable, arrow_schema(fields)) if usable else None
    for batch in batches:
        rows = batch if condition is None else batch.filter(condition)
        if rows.num_rows:
            yield rows


def _by_file(store: TableStore, split: DataSplit, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, str]]:
    """All rows of an append table's split, with their places and the path of their file."""
    fields = store.schema.select(tuple(columns))
    reader = BucketFiles(store, split.bucket_dir, fields, deletions=_deletions(split))
    for file in split.files:
        path = data_file_path(split.bucket_dir, file)
        for batch in reader.read_numbered(file):
            yield batch, path


def _deletions(split: DataSplit) -> dict[str, DeletionFile]:
    return {d.vector.data_file: d for d in split.deletions}


def _merged(
    store: TableStore, split: DataSplit, fields: Sequence[DataField], predicate: Predicate | None
) -> Iterator[pa.RecordBatch]:
    schema, spec = store.schema, merge_spec(store, drop_delete=True)
    stored = {k: KEY_PREFIX + k for k in schema.trimmed_primary_keys}
    wanted = columns_to_merge(schema, store.options, frozenset(f.name for f in fields if f.name not in stored))
    values = tuple(f for f in schema.fields if f.name in wanted)
    # a part of a run may be skipped only where none of its keys match: other columns change in a merge
    on_keys = only_on(predicate, stored) if predicate else None
    keyed = renamed(on_keys, stored) if on_keys else None
    files = BucketFiles(store, split.bucket_dir, key_value_fields(values, schema.key_fields), keyed, _deletions(split))
    sources, target = [stored.get(f.name, f.name) for f in fields], arrow_schema(fields)
    for section in sections(split.files, [f.type for f in schema.key_fields]):
        for batch in merge_section(files, section, spec):
            yield pa.RecordBatch.from_arrays([batch.column(n) for n in sources], schema=target)
