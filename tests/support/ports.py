"""Ports of this machine for servers that tests start."""

from __future__ import annotations

import socket


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
