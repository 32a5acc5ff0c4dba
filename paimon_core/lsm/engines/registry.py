"""The merge engines by the name that `merge-engine` gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import pyarrow as pa

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.lsm.engines.deduplicate import deduplicate
from paimon_core.lsm.rows import KeyedRows
from paimon_core.options import MERGE_ENGINE, TableOptions

MergeEngine = Callable[[KeyedRows, bool], pa.RecordBatch]

ENGINES: Mapping[str, MergeEngine] = MappingProxyType({"deduplicate": deduplicate})


def merge_engine(options: TableOptions) -> MergeEngine:
    """The engine of a table. Raises `UnsupportedFeatureError` naming it."""
    name = options[MERGE_ENGINE]
    if name not in ENGINES:
        known = ", ".join(ENGINES)
        raise UnsupportedFeatureError(
            f"'{MERGE_ENGINE.key}' = '{name}' is not supported by this version, which knows {known}."
        )
    return ENGINES[name]
