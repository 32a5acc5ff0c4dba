"""Random histories of a table, and a stream that follows it with random limits and dies at random.

What it has made of the changes is the table.
"""

from __future__ import annotations

import os
import random
import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import stored
from tests.support.streamed import Follower, act

KEYED = {"primary_key": "k", "bucket": "2"}
TABLES = {
    "append": {},
    "append fixed": {"bucket": "2", "bucket_key": "k"},
    "none": KEYED,
    "input": KEYED | {"changelog_producer": "input"},
    "lookup": KEYED | {"changelog_producer": "lookup"},
    "full-compaction": KEYED | {"changelog_producer": "full-compaction", "full_compaction__delta_commits": "1"},
    "dynamic": {"primary_key": "k", "dynamic_bucket__target_row_num": "5"},
    "dynamic lookup": {"primary_key": "k", "changelog_producer": "lookup", "dynamic_bucket__target_row_num": "5"},
    "postponed": KEYED | {"bucket": "-2"},
}
EXAMPLES = -(-int(os.environ.get("STREAM_HISTORIES", "18")) // len(TABLES))  # of each table


def follow(warehouse: str, name: str, seed: int, steps: int) -> None:
    options, dice = TABLES[name], random.Random(seed)
    stored.create_table(warehouse, num_sorted_run__compaction_trigger="3", **options)
    follower = Follower(warehouse, dice, {"consumer-id": "follower", "streaming-read-overwrite": "true"})
    done = []
    for number in range(steps):
        done.append(act(warehouse, dice, number))
        for _ in range(dice.randint(0, 2)):
            follower.batch(may_die=True)
    follower.drain()
    expected = stored.read(stored.open_table(warehouse).with_options({"postpone.merge-on-read": "true"}))
    if name == "full-compaction":  # what is not compacted yet has no changelog
        stored.compact(stored.open_table(warehouse))
        follower.drain()
    assert (follower.state() if "primary_key" in options else follower.counted()) == expected, (name, seed, done)


@pytest.mark.parametrize("name", TABLES)
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_a_stream_that_dies_and_goes_on_has_the_rows_of_the_table(name: str, seed: int) -> None:
    with tempfile.TemporaryDirectory() as warehouse:
        follow(warehouse, name, seed, steps=8)
