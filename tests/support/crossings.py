"""Calls between Python and the JVM of a Spark driver, counted by py4j's commands."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from py4j import protocol
from py4j.clientserver import ClientServerConnection

_OUR_CODE = ("paimon_sql", "paimon_core", "catalog", "procedures")


@dataclass(frozen=True, slots=True)
class Crossing:
    """A call that went to the other side: `name` is what was called, `caller` the line of our code that called."""

    to_java: bool
    name: str
    caller: str
    began: float
    seconds: float
    thread: int


@dataclass(slots=True)
class Crossings:
    """All calls in both directions, in the order of their ends. Objects that are let go of are counted apart."""

    calls: list[Crossing] = field(default_factory=list)
    released: int = 0

    def to_java(self) -> int:
        return sum(c.to_java for c in self.calls)

    def to_python(self) -> int:
        return sum(not c.to_java for c in self.calls)

    def lines(self) -> Counter[str]:
        """Return how many calls to the JVM each line of our code made."""
        return Counter(f"{c.caller}  {c.name}" for c in self.calls if c.to_java)


@contextmanager
def counted() -> Iterator[Crossings]:
    """Count the calls of all threads."""
    found = Crossings()
    send, call_proxy = ClientServerConnection.send_command, ClientServerConnection._call_proxy

    def sending(self: Any, command: str) -> Any:
        kind, *parts = command.split("\n")
        if kind == protocol.MEMORY_COMMAND_NAME.strip():
            found.released += 1
            return send(self, command)
        began = time.perf_counter()
        try:
            return send(self, command)
        finally:
            took = time.perf_counter() - began
            found.calls.append(Crossing(True, _named(kind, parts), _caller(), began, took, threading.get_ident()))

    def answering(self: Any, obj_id: str, stream: Any) -> Any:
        began = time.perf_counter()
        peeked = _Peeked(stream)
        try:
            return call_proxy(self, obj_id, peeked)
        finally:
            proxy = type(self.pool[obj_id]).__name__ if obj_id in self.pool else "gone"
            took = time.perf_counter() - began
            name = f"{proxy}.{peeked.first}"
            found.calls.append(Crossing(False, name, "", began, took, threading.get_ident()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClientServerConnection, "send_command", sending)
        patch.setattr(ClientServerConnection, "_call_proxy", answering)
        yield found


class _Peeked:
    """A stream that remembers its first line, the name of the method."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.first = stream, ""

    def readline(self) -> bytes:
        line: bytes = self.stream.readline()
        self.first = self.first or line.decode("utf-8").strip()
        return line


def _named(kind: str, parts: list[str]) -> str:
    """Return what a command calls: py4j's commands name a target, then a method."""
    match kind:
        case "c":
            return parts[1]
        case "i":
            return f"new {parts[0].rpartition('.')[2]}"
        case "r":
            return f"member {'.'.join(parts[1:3]).rpartition('.')[2]}"
    return f"{kind} {parts[0] if parts else ''}"


def _caller() -> str:
    frame = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename
        for root in _OUR_CODE:
            at = path.rfind(f"/{root}/")
            if at >= 0 and "site-packages" not in path:
                return f"{path[at + 1 :]}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return "Spark"
