"""Copying files, here or over Spark's executors."""

from __future__ import annotations

import json

from paimon_core.io.file_io import FileIO
from paimon_core.io.transfer import Copy, CopyTask, Pairs, copy_files
from paimon_sql.procedures.registry import ProcedureContext

MANY = 100  # files
_EACH = 10  # files of a task


def copying(context: ProcedureContext) -> Copy:
    """What copies files: here, or as tasks where they are many."""

    def copy(source: FileIO, target: FileIO, pairs: Pairs) -> None:
        if len(pairs) < MANY:
            copy_files(source, target, pairs)
            return
        texts = [json.dumps(pairs[i : i + _EACH]) for i in range(0, len(pairs), _EACH)]
        context.executor.run(CopyTask(source, target), texts, f"copy {len(pairs)} files")

    return copy
