"""The commit protocol has no counterexample in these configurations, and every mistake has one.

`make campaign NAME=protocol` explores larger ones; see docs/commit-protocol.md.
"""

from __future__ import annotations

import pytest

from tests.protocol.configurations import FLEET, GATE, LIMITS, MISTAKES


@pytest.mark.parametrize("name", GATE)
def test_the_protocol_holds(name: str) -> None:
    explored = GATE[name].explore()
    assert explored.counterexample is None, str(explored.counterexample)
    assert explored.is_complete and explored.states > 500


def test_three_writers_a_compactor_and_expiry() -> None:
    explored = FLEET.explore(100_000)
    assert explored.counterexample is None, str(explored.counterexample)
    assert explored.states >= 100_000


@pytest.mark.parametrize("name", MISTAKES)
def test_every_mistake_is_found(name: str) -> None:
    found = MISTAKES[name].explore().counterexample
    assert found is not None and MISTAKES[name].wrong in found.wrong, str(found)


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_where_they_are_said_to_be(name: str) -> None:
    """One that is gone is to be struck from the page."""
    found = LIMITS[name].explore().counterexample
    assert found is not None and LIMITS[name].wrong in found.wrong, str(found)
