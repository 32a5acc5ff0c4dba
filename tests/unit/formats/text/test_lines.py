"""Lines of files that are read in blocks are those of the whole text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.formats.text.lines import text_lines


@dataclass
class Blocks:
    """A file that hands out so many bytes at a time."""

    content: bytes
    size: int

    def read(self, _: int) -> bytes:
        block, self.content = self.content[: self.size], self.content[self.size :]
        return block


def lines(content: bytes, delimiter: str, size: int) -> list[bytes]:
    stream: Any = Blocks(content, size)
    return [line for part in text_lines(stream, delimiter) for line in part]


@given(st.text("ab|", max_size=60), st.sampled_from(["|", "||", "ab", "aab", "aa"]), st.integers(1, 9))
def test_lines_across_blocks(text: str, delimiter: str, size: int) -> None:
    *expected, rest = text.encode().split(delimiter.encode())
    assert lines(text.encode(), delimiter, size) == [*expected, *([rest] if rest else [])]


def test_a_line_without_an_end() -> None:
    with pytest.raises(ValueError, match="a line has more than 67108864 bytes"):
        lines(b"a" * (2**26 + 2**20 + 1), "\n", 2**20)
