"""Copying files, here or over Spark's executors."""

from __future__ import annotations

from paimon_core.io.file_io import FileIO
from paimon_core.io.transfer import Copy, Pairs, copy_files, copy_job
from paimon_sql.procedures.registry import ProcedureContext

MANY = 100  # files
_EACH = 10  # files of a task


def copying(context: ProcedureContext) -> Copy:
    """What copies files: here, or as tasks where they are many."""

    def copy(source: FileIO, target: FileIO, pairs: Pairs) -> None:
        if len(pairs) < MANY:
            copy_files(source, target, pairs)
            return
        context.executor.run(copy_job(source, target, pairs, _EACH))

    return copy
