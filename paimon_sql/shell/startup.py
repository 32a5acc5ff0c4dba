"""A quiet console while Spark starts."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_CHUNK = 65536


@contextmanager
def quiet_start() -> Iterator[None]:
    """Drop output to stderr inside the block, such as the JVM's greeting, unless the block fails.

    After the block, a process that it started still writes its stderr through this process: Spark's progress bar works.
    """
    console = os.dup(2)
    source, sink = os.pipe()
    os.dup2(sink, 2)
    os.close(sink)
    relay = _Relay(source, console)
    threading.Thread(target=relay.run, daemon=True).start()
    try:
        yield
    except BaseException:
        relay.open(replay=True)
        raise
    finally:
        sys.stderr.flush()
        os.dup2(console, 2)
        relay.open(replay=False)


class _Relay:
    """Copies one descriptor to another. It stores the bytes until it is opened, and then passes them on."""

    def __init__(self, source: int, target: int):
        self.source, self.target = source, target
        self.held: list[bytes] = []
        self.is_open = False
        self.lock = threading.Lock()

    def open(self, replay: bool) -> None:
        with self.lock:
            if replay:
                os.write(self.target, b"".join(self.held))
            self.is_open = True
            self.held.clear()

    def run(self) -> None:
        while chunk := os.read(self.source, _CHUNK):
            with self.lock:
                if self.is_open:
                    os.write(self.target, chunk)
                else:
                    self.held.append(chunk)
        os.close(self.source)
        os.close(self.target)
