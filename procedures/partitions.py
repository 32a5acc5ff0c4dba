"""`CALL sys.mark_partition_done`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.maintenance.partitions import mark_partition_done as mark
from paimon_core.options import PARTITION_MARK_DONE_ACTION
from paimon_sql.procedures.registry import ProcedureContext, procedure


@procedure(result="boolean")
def mark_partition_done(context: ProcedureContext, table: str, partitions: str) -> Sequence[tuple[Any, ...]]:
    """Say that partitions (`dt=2024-01-01,hh=10;dt=2024-01-02,hh=0`) are complete, by a `_SUCCESS` file in each.

    The result is true.
    """
    target = context.load_table(table)
    others = [a for a in target.store.options[PARTITION_MARK_DONE_ACTION] if a != "success-file"]
    if others:
        raise UnsupportedFeatureError(
            f"Table {target.name}: 'partition.mark-done-action' = '{others[0]}' is not supported; 'success-file' works."
        )
    keys = target.schema.partition_keys
    specs = [_spec(text, keys) for text in partitions.split(";") if text.strip()]
    if not specs or not keys:
        raise InvalidOptionError(f"partitions names no partition of {target.name}; its columns are {', '.join(keys)}.")
    for spec in specs:
        mark(target.store, spec)
    return [(True,)]


def _spec(text: str, keys: tuple[str, ...]) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(","))
    found = {k.strip(): v.strip().strip("'\"") for k, _, v in pairs}
    if set(found) - set(keys):
        raise InvalidOptionError(
            f"partitions has {text.strip()!r}: write column=value; the partition columns are {', '.join(keys)}."
        )
    given = [k for k in keys if k in found]
    if tuple(given) != keys[: len(given)] or not all(found.values()):
        raise InvalidOptionError(f"partitions has {text.strip()!r}: give values for {', '.join(keys)}, in this order.")
    return {k: found[k] for k in given}
