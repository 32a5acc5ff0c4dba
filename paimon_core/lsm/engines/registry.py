"""The merge engines by their name in `merge-engine`, and their construction for a table.

An engine is a function. It gets the rows of a merge window, ordered by key and age (`lsm.rows.KeyedRows`), and whether
to drop keys that end with a delete. It returns a batch of one row per key, in key order, with the same columns. The
result must not depend on how the rows of a key are divided among merges, because compactions merge some rows, and reads
merge the outcome again. A delete therefore stays until no older row of its key can remain.

Source: Paimon's pages "Merge Engines", "Partial Update", "Aggregation", "First Row".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.lazy import ImportedOnCall
from paimon_core.lsm.engines.deduplicate import deduplicate
from paimon_core.lsm.engines.first_row import first_row, refuse_delete
from paimon_core.lsm.functions.field_options import group_columns
from paimon_core.lsm.rows import KeyedRows, is_retract
from paimon_core.options import IGNORE_DELETE, MERGE_ENGINE, SEQUENCE_FIELD, TableOptions
from paimon_core.spec.schema import TableSchema

if TYPE_CHECKING:
    from paimon_core.lsm.engines.by_function import (
        adds_values,
        aggregation,
        check_kinds_of,
        partial_update,
        with_counts_of,
    )
else:
    adds_values = ImportedOnCall("paimon_core.lsm.engines.by_function", "adds_values")
    aggregation = ImportedOnCall("paimon_core.lsm.engines.by_function", "aggregation")
    check_kinds_of = ImportedOnCall("paimon_core.lsm.engines.by_function", "check_kinds_of")
    partial_update = ImportedOnCall("paimon_core.lsm.engines.by_function", "partial_update")
    with_counts_of = ImportedOnCall("paimon_core.lsm.engines.by_function", "with_counts_of")

MergeEngine = Callable[[KeyedRows, bool], pa.RecordBatch]


def merge_engine(schema: TableSchema, options: TableOptions) -> MergeEngine:
    """Return the engine of a table. Raises `InvalidOptionError` for options that conflict or do not fit the columns."""
    return _ENGINES[options[MERGE_ENGINE]](schema, options)


def keeps_rows(options: TableOptions) -> bool:
    """Return whether the merged row of a key is always one of the written rows. File statistics then hold for it."""
    return options[MERGE_ENGINE] in ("deduplicate", "first-row")


def replaces_rows(schema: TableSchema, options: TableOptions) -> bool:
    """Return whether a new row with some changed values replaces the old row of its key. Other engines keep the old
    row, or add the values of both."""
    if options[MERGE_ENGINE] != "partial-update":
        return options[MERGE_ENGINE] == "deduplicate"
    return not adds_values(partial_update(schema, options))


def columns_to_merge(schema: TableSchema, options: TableOptions, wanted: frozenset[str]) -> frozenset[str]:
    """Return the columns that the engine reads to merge the `wanted` columns: the wanted columns, and the columns that
    decide their order.
    """
    ordering = options[SEQUENCE_FIELD]
    needed = {*wanted, *ordering}
    if options[MERGE_ENGINE] == "partial-update":
        for group in partial_update(schema, options).groups:
            if group.removes or needed & set(group.columns):
                needed |= set(group.sequence)
    return frozenset(needed)


def check_kinds(engine: MergeEngine, rows: pa.RecordBatch, kinds: NDArray[np.int8]) -> None:
    """Raise `MergeRefusedError` if the engine cannot merge a delete among `rows`, which have these row `kinds`.

    Writers check this before they write: later, each merge with other rows of the key would fail."""
    retract = is_retract(kinds)
    if not retract.any():
        return
    if not isinstance(engine, partial):
        check_kinds_of(engine, rows, kinds)
    elif engine.func is first_row and not engine.keywords["ignore_delete"]:
        refuse_delete()


def with_counts(engine: MergeEngine, rows: pa.RecordBatch, kinds: NDArray[np.int8]) -> pa.RecordBatch:
    """Return new rows with 1 or 0 in the columns that the engine counts. `rows` have these row `kinds`."""
    return rows if isinstance(engine, partial) else with_counts_of(engine, rows, kinds)


def _deduplicate(schema: TableSchema, options: TableOptions) -> MergeEngine:
    return partial(deduplicate, ignore_delete=options[IGNORE_DELETE])


def _first_row(schema: TableSchema, options: TableOptions) -> MergeEngine:
    return partial(first_row, ignore_delete=options[IGNORE_DELETE])


def sequence_group_columns(options: TableOptions) -> frozenset[str]:
    """Return the columns that order sequence groups."""
    return frozenset(name for sequence in group_columns(options).values() for name in sequence)


_ENGINES: Mapping[str, Callable[[TableSchema, TableOptions], MergeEngine]] = MappingProxyType(
    {
        "aggregation": aggregation,
        "deduplicate": _deduplicate,
        "first-row": _first_row,
        "partial-update": partial_update,
    }
)
