"""Stored procedures: `CALL sys.name(…)`. Each is a typed function under `@procedure`, in the module of its subject.

To add one, write such a function. A new module must also be imported and listed below.
"""

from __future__ import annotations

from paimon_sql.procedures import (
    branches,
    chain_tables,
    cloning,
    compaction,
    definitions,
    expiry,
    files,
    indexes,
    partitions,
    pictures,
    privileges,
    rollback,
    row_ids,
    tags,
)
from paimon_sql.procedures.migration import calls as migration_calls
from paimon_sql.procedures.registry import (
    ForeignTable,
    Parameter,
    Procedure,
    ProcedureContext,
    ProcedureExecutor,
    procedure,
    procedures_of,
    result_table,
)

__all__ = [
    "PROCEDURES",
    "ProcedureExecutor",
    "ForeignTable",
    "Parameter",
    "Procedure",
    "ProcedureContext",
    "procedure",
    "result_table",
]

PROCEDURES = procedures_of(
    branches,
    chain_tables,
    cloning,
    compaction,
    definitions,
    expiry,
    files,
    indexes,
    migration_calls,
    partitions,
    pictures,
    privileges,
    rollback,
    row_ids,
    tags,
)
