"""Stored procedures: `CALL sys.name(…)`. Each is a typed function in a module of its own subject."""

from __future__ import annotations

from paimon_sql.procedures.compaction import compact
from paimon_sql.procedures.registry import Executor, Parameter, Procedure, ProcedureContext, procedure

__all__ = ["PROCEDURES", "Executor", "Parameter", "Procedure", "ProcedureContext", "procedure"]

PROCEDURES = {p.name: p for p in (compact,)}
