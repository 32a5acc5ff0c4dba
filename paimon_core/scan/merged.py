"""The rows of a split of a primary-key table, merged by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from paimon_core.arrow.types import KEY_PREFIX, SEQUENCE_NUMBER, VALUE_KIND, arrow_schema, key_value_fields
from paimon_core.expressions.predicate import Predicate, only_on, renamed
from paimon_core.lazy import ImportedOnCall
from paimon_core.lsm.engines.registry import columns_to_merge
from paimon_core.lsm.runs import sections
from paimon_core.scan.postponed import merge_with_postponed
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.spec.types import DataField
from paimon_core.store.data.bucket_files import BucketFiles, merge_section, merge_spec
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.scan.partitions import decoded_partitions
else:
    decoded_partitions = ImportedOnCall("paimon_core.scan.partitions", "decoded_partitions")

SYSTEM_COLUMNS = (SEQUENCE_NUMBER, VALUE_KIND)


def merged_rows(
    store: TableStore,
    split: DataSplit,
    fields: Sequence[DataField],
    predicate: Predicate | None,
    *,
    with_deletes: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield one row per key, as batches of the fields. Within a section, rows are in key order.

    `with_deletes` adds `SYSTEM_COLUMNS` after the fields, and keeps the keys that end with a delete. `predicate` only
    skips row groups: rows that do not match may be included.
    """
    schema, spec = store.schema, merge_spec(store, drop_delete=not with_deletes)
    stored = {k: KEY_PREFIX + k for k in schema.trimmed_primary_keys}
    wanted = columns_to_merge(schema, store.options, frozenset(f.name for f in fields if f.name not in stored))
    values = tuple(f for f in schema.fields if f.name in wanted)
    # A part of a run may be skipped only if none of its keys match, because a merge may change other columns.
    on_keys = only_on(predicate, stored) if predicate else None
    keyed = renamed(on_keys, stored) if on_keys else None
    in_files = key_value_fields(values, schema.key_fields)
    files = BucketFiles(store, split.bucket_dir, in_files, keyed, split.deletions_by_file, lenient=True)
    system = [f for f in in_files if f.name in SYSTEM_COLUMNS] if with_deletes else []
    sources = [stored.get(f.name, f.name) for f in fields] + [f.name for f in system]
    target = arrow_schema([*fields, *system])
    chained = split.kind is SplitKind.CHAIN
    if split.kind is SplitKind.POSTPONED:
        merged = merge_with_postponed(files, split, spec)
    else:
        parts = sections(split.files, [f.type for f in schema.key_fields])
        merge = partial(merge_section, files, spec=spec, values_only=not with_deletes, chained=chained)
        merged = chain.from_iterable(map(merge, parts))
    constants = decoded_partitions(store, [split.partition]) if chained else pa.table({})
    for batch in merged:
        yield pa.RecordBatch.from_arrays([_column(batch, n, constants) for n in sources], schema=target)


def _column(batch: pa.RecordBatch, name: str, constants: pa.Table) -> pa.Array:
    return pa.repeat(constants[name][0], len(batch)) if name in constants.column_names else batch.column(name)
