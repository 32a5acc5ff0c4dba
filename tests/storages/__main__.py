"""Run a command with a warehouse on a remote storage of this machine.

    python -m tests.storages s3|s3-faulty|hdfs COMMAND …

s3: versitygw, the program in PAIMON_SQL_VERSITYGW. s3-faulty: the same behind a proxy that delays, refuses and loses
requests and answers. hdfs: a name node and a data node, from the jars in PAIMON_SQL_HDFS_JARS. The command finds the
storage by `tests.support.remote_storage`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.support.faulty_proxy import FAULTS, faulty_proxy
from tests.support.hdfs_server import hdfs_server
from tests.support.remote_storage import VARIABLE, RemoteStorage
from tests.support.storage_servers import versitygw


@contextmanager
def _s3(folder: Path) -> Iterator[RemoteStorage]:
    with versitygw(folder) as found:
        yield RemoteStorage(found.root, found.options)


@contextmanager
def _faulty_s3(folder: Path) -> Iterator[RemoteStorage]:
    with versitygw(folder) as found:
        host, _, port = found.options["s3.endpoint"].rpartition(":")
        with faulty_proxy(int(port), FAULTS) as proxy:
            yield RemoteStorage(found.root, {**found.options, "s3.endpoint": f"{host}:{proxy}"})


@contextmanager
def _hdfs(folder: Path) -> Iterator[RemoteStorage]:
    with hdfs_server(folder) as url:
        yield RemoteStorage(url, {})


SERVERS: dict[str, Callable[[Path], AbstractContextManager[RemoteStorage]]] = {
    "s3": _s3,
    "s3-faulty": _faulty_s3,
    "hdfs": _hdfs,
}


def main() -> int:
    name, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder, SERVERS[name](Path(folder, "server")) as storage:
        return subprocess.run(command, env={**os.environ, VARIABLE: storage.text}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
