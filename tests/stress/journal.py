"""What a process says it does, a line at a time, on the disk before it goes on: all that is known of a killed one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Journal:
    """A file of lines of words. A line is written whole: a kill comes before or after a write to a local file."""

    path: Path

    def add(self, *words: object) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, (" ".join(map(str, words)) + "\n").encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lines(self, word: str) -> Iterator[list[str]]:
        """What follows `word` in the lines that begin with it."""
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                first, *rest = line.split(" ")
                if first == word:
                    yield rest

    def numbers(self, word: str) -> set[int]:
        return {int(rest[0]) for rest in self.lines(word)}
