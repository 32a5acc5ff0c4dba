"""An HDFS on this machine: a name node and one data node, from the jars in PAIMON_SQL_HDFS_JARS."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.kerberos import Realm

JARS = os.environ.get("PAIMON_SQL_HDFS_JARS")
_SOURCE = Path(__file__).parent.parent / "storages" / "MiniHdfs.java"


@contextmanager
def hdfs_server(folder: Path, realm: Realm | None = None, protection: str = "privacy") -> Iterator[str]:
    """Start it, yield its URL, and stop it. With a realm, it requires Kerberos, and encrypts what it sends, or protects
    it in another way.
    """
    assert JARS, "make campaign NAME=hdfs sets PAIMON_SQL_HDFS_JARS"
    options, words, host = ["-Xmx700m", "-XX:TieredStopAtLevel=1"], [str(folder)], "127.0.0.1"
    if realm is not None:
        keytab = realm.folder / "servers.keytab"
        for principal in () if keytab.exists() else ("hdfs/localhost", "HTTP/localhost"):
            realm.add(principal, keytab)
        options += [f"-Djava.security.krb5.conf={realm.configuration}"]
        words, host = [*words, str(keytab), protection], "localhost"
    command = ["java", *options, "-cp", JARS, str(_SOURCE), *words]
    with (
        (folder.parent / f"{folder.name}.log").open("w") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as server,
    ):
        assert server.stdin is not None and server.stdout is not None
        try:
            port = next((line.split()[1] for line in server.stdout if line.startswith("ready ")), None)
            assert port, f"HDFS did not start: see {log.name}"
            yield f"hdfs://{host}:{port}"
        finally:
            server.stdin.close()
            server.wait(60)
