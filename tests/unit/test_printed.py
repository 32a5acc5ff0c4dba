"""The limit for a program in the background is for each line, not for all lines."""

from __future__ import annotations

import sys
import time

import pytest

from tests.support.printed import printed_lines


def test_lines_arrive_while_the_program_runs() -> None:
    code = "import time\nfor i in range(3): print(i, flush=True)\ntime.sleep(600)"
    lines = printed_lines([sys.executable, "-c", code])
    assert [next(lines) for _ in range(3)] == ["0", "1", "2"]
    lines.close()  # type: ignore[attr-defined]


def test_a_program_that_hangs_is_found() -> None:
    began = time.monotonic()
    with pytest.raises(AssertionError, match="printed nothing for 1 s"):
        list(printed_lines([sys.executable, "-c", "import time; time.sleep(600)"], 1))
    assert time.monotonic() - began < 300


def test_the_error_of_a_program_is_shown() -> None:
    with pytest.raises(AssertionError, match="told so"):
        list(printed_lines([sys.executable, "-c", "print(1); raise SystemExit('told so')"]))
