"""A storage that refuses bytes of an ORC file ends the statement and not the process, which is one of its own here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
import pyarrow as pa
from paimon_core.errors import StorageError
from paimon_core.formats.orc.data_files import OrcFormat
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import BIGINT, DataField
from tests.support.faulty_io import Fault, FaultyIO, SimulatedCrash

FIELDS = (DataField(id=0, name="k", type=BIGINT),)

def write(io, path):
    writer = OrcFormat().open_writer(io, path, FIELDS, TableOptions({}))
    try:
        writer.write(pa.table({"k": list(range(10))}))
        writer.close()
    except BaseException:
        writer.abort()
        raise

counted = FaultyIO(LocalFileIO())
write(counted, f"{sys.argv[1]}/whole.orc")
for mode in (Fault.BEFORE, Fault.TORN, Fault.NO_SPACE, Fault.CRASH):
    for k in counted.moments(mode):
        try:
            write(FaultyIO(LocalFileIO(), k, mode), f"{sys.argv[1]}/{k}.orc")
        except (StorageError, SimulatedCrash):
            print(k, mode.name)
"""


def test_bytes_that_cannot_be_written(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    made = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[4], check=False)
    assert made.returncode == 0, made.stderr
    tried = {tuple(line.split()) for line in made.stdout.splitlines()}
    assert len(tried) > 8 and {mode for _, mode in tried} == {"BEFORE", "TORN", "NO_SPACE", "CRASH"}
