"""A Kerberos realm on this machine: its KDC in another process, keytabs and tickets in one folder.

It needs Debian's `krb5-kdc`, `krb5-admin-server` and `krb5-user`, and reads nothing of the machine's own configuration.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.ports import free_port
from tests.support.waiting import PATIENCE, wait_until

NAME = "LAKE.TEST"
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit", "klist")
_CLIENTS = """
[libdefaults]
  default_realm = {name}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  udp_preference_limit = 1
  clockskew = 1
[realms]
  {name} = {{
    kdc = 127.0.0.1:{port}
  }}
"""
_KDC = """
[kdcdefaults]
  kdc_listen = 127.0.0.1:{port}
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {name} = {{
    database_name = {folder}/principals
    key_stash_file = {folder}/stash
    acl_file = {folder}/acl
  }}
[logging]
  kdc = FILE:{folder}/kdc.log
  admin_server = FILE:{folder}/kadmin.log
"""


@dataclass(frozen=True)
class Realm:
    """A realm with a running KDC."""

    folder: Path
    port: int

    @property
    def configuration(self) -> Path:
        """The `krb5.conf` of clients and servers."""
        return self.folder / "krb5.conf"

    def add(self, principal: str, keytab: Path | None = None) -> Path:
        """Create a principal. Return its keytab, which is a new one if none is given."""
        keytab = keytab or self.folder / f"{principal.replace('/', '.')}.keytab"
        self._ask("addprinc", "-randkey", principal)
        self._ask("ktadd", "-k", str(keytab), principal)
        return keytab

    def change_key(self, principal: str) -> None:
        """Give a principal another key, so that its keytab has the old one."""
        self._ask("cpw", "-randkey", principal)

    def get_ticket(self, principal: str, cache: Path, *options: str) -> None:
        """Get a ticket as `kinit` does with a keytab."""
        keytab = self.folder / f"{principal.replace('/', '.')}.keytab"
        self.run("kinit", *options, "-k", "-t", str(keytab), "-c", f"FILE:{cache}", principal)

    def await_end_of(self, cache: Path) -> None:
        """Wait until a ticket has expired."""
        wait_until(lambda: self._done("klist", "-s", "-c", f"FILE:{cache}").returncode)

    def run(self, program: str, *arguments: str) -> str:
        done = self._done(program, *arguments)
        if done.returncode:
            raise RuntimeError(f"{program} {' '.join(arguments)} failed: {done.stdout}{done.stderr}")
        return done.stdout

    def _ask(self, *query: str) -> None:
        """Run an administrator's command. The exit status of `kadmin.local` does not show a failure."""
        said = self._done("kadmin.local", "-r", NAME, *query)
        if said.returncode or said.stderr.strip().startswith(f"{query[0]}:"):
            raise RuntimeError(f"kadmin.local {' '.join(query)} failed: {said.stdout}{said.stderr}")

    def _done(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        found = shutil.which(program, path=_PATH)
        assert found is not None
        return subprocess.run(
            [found, *arguments], env=self.environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    @property
    def environment(self) -> dict[str, str]:
        own = {"KRB5_CONFIG": str(self.configuration), "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf")}
        return os.environ | own | {"LC_ALL": "C"}


def why_not() -> str | None:
    """Return the reason why this machine cannot have a realm; None if it can."""
    missing = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    if missing:
        return f"no {', '.join(missing)} on this machine: apt-get install krb5-kdc krb5-admin-server krb5-user"
    return None


@contextmanager
def realm(folder: Path) -> Iterator[Realm]:
    """Yield a realm without principals."""
    made = Realm(folder, free_port())
    made.configuration.write_text(_CLIENTS.format(name=NAME, port=made.port))
    (folder / "kdc.conf").write_text(_KDC.format(name=NAME, port=made.port, folder=folder))
    made.run("kdb5_util", "create", "-s", "-r", NAME, "-P", os.urandom(16).hex())
    server = shutil.which("krb5kdc", path=_PATH)
    assert server is not None
    with (folder / "kdc.out").open("wb") as log:
        process = subprocess.Popen([server, "-n", "-r", NAME], env=made.environment, stdout=log, stderr=log)
    try:
        _await(made, process)
        yield made
    finally:
        process.kill()
        process.wait(PATIENCE)


def _await(made: Realm, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", made.port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(f"No KDC: {(made.folder / 'kdc.out').read_text()}") from None
            time.sleep(0.05)
