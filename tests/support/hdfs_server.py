"""An HDFS on this machine: a name node and one data node, from the jars in PAIMON_SQL_HDFS_JARS."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

JARS = os.environ.get("PAIMON_SQL_HDFS_JARS")
_SOURCE = Path(__file__).parent.parent / "storages" / "MiniHdfs.java"


@contextmanager
def hdfs_server(folder: Path) -> Iterator[str]:
    """Start it, yield its URL, and stop it."""
    assert JARS, "make campaign NAME=hdfs sets PAIMON_SQL_HDFS_JARS"
    command = ["java", "-Xmx700m", "-XX:TieredStopAtLevel=1", "-cp", JARS, str(_SOURCE), str(folder)]
    with (
        (folder.parent / f"{folder.name}.log").open("w") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as server,
    ):
        assert server.stdin is not None and server.stdout is not None
        try:
            port = next((line.split()[1] for line in server.stdout if line.startswith("ready ")), None)
            assert port, f"HDFS did not start: see {log.name}"
            yield f"hdfs://127.0.0.1:{port}"
        finally:
            server.stdin.close()
            server.wait(60)
