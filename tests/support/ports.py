"""Ports of this machine for servers that tests start and that cannot choose a port themselves."""

from __future__ import annotations

import random
import socket
from pathlib import Path

_LOWEST, _ATTEMPTS = 15_000, 1_000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """Return a port that no server uses, and that stays free for this process.

    The kernel gives outgoing connections ports of one range, so the port is below it. No other test process gets the
    same port, because each process holds a name for its port until it ends.
    """
    dice = random.SystemRandom()  # not the global generator: tests set its seed
    for _ in range(_ATTEMPTS):
        port = dice.randrange(_LOWEST, _end())
        if _reserve(port) and is_free(port):
            return port
    raise RuntimeError(f"No port of this machine is free: {_ATTEMPTS} of them are taken. Stop what listens on them.")


def is_free(port: int) -> bool:
    """Whether a server can bind a port on all addresses of this machine."""
    with socket.socket() as taken:
        try:
            taken.bind(("", port))
        except OSError:
            return False
    return True


def _end() -> int:
    """Return the first port of outgoing connections, or the end of all ports if these have nearly all of them."""
    lowest = int(_EPHEMERAL.read_text().split()[0]) if _EPHEMERAL.exists() else 0
    return lowest if lowest > _LOWEST + _ATTEMPTS else 1 << 16


def _reserve(port: int) -> bool:
    """Hold a name, which is not a file, until this process ends. Return False if another process holds it."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0paimon-sql-test-port-{port}")
    except OSError:
        name.close()
        return False
    name.detach()  # the socket stays open
    return True
