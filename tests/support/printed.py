"""The lines that a program prints, while it runs."""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from queue import Empty, SimpleQueue

from tests.support.waiting import PATIENCE


def printed_lines(command: Sequence[str], seconds: float = PATIENCE) -> Iterator[str]:
    """Yield each line as soon as a program prints it. Fail if the program ends with an error, or if it prints nothing
    for so long that it must hang. A limit for the whole program would depend on the load of the machine.
    """
    lines: SimpleQueue[str | None] = SimpleQueue()
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            while (line := lines.get(timeout=seconds)) is not None:
                yield line.rstrip("\n")
            status = process.wait(seconds)
        except Empty:
            raise AssertionError(f"{command[:2]} has printed nothing for {seconds:.0f} s") from None
        finally:
            process.kill()
        errors.seek(0)
        assert status == 0, errors.read()[-3000:]


def _read(stream: Iterator[str], lines: SimpleQueue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)
