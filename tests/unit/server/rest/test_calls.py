"""Pages of names, and patterns of SQL's LIKE."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.server.rest.calls import is_like

HOSTILE = "%e" * 25 + "%z"


@given(st.text("ab.\\[\n", max_size=8), st.text("ab.\\[\n%", max_size=8))
def test_a_pattern_is_as_a_regular_expression_has_it(name: str, pattern: str) -> None:
    expected = re.compile(".*".join(map(re.escape, pattern.split("%"))), re.DOTALL)
    assert is_like(name, pattern) is (expected.fullmatch(name) is not None)


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("orders", "orders", True),
        ("orders", "order", False),
        ("orders", "%", True),
        ("aba", "ab%ba", False),
        ("abba", "ab%ba", True),
        ("a_b", "a%_%b", True),
        ("axb", "a_b", False),  # an underscore stands for itself, as in Paimon's servers
        ("", "%%", True),
    ],
)
def test_patterns(name: str, pattern: str, expected: bool) -> None:
    assert is_like(name, pattern) is expected


def test_no_pattern_takes_long() -> None:
    """In a process of its own: a matcher that backtracks would hold this one for ever."""
    code = f"from paimon_sql.server.rest.calls import is_like; print(is_like('e' * 2000, {HOSTILE!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
