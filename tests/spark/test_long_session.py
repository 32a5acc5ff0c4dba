"""A session of many statements holds no more than one of few; benchmarks/long_session.py is the long one."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from tests.support.long_session import KINDS, SETUP, held, statements

pytestmark = pytest.mark.spark
_ROUNDS = 2


def test_many_statements_hold_no_more_than_few(spark: Any) -> None:
    for text in SETUP:
        spark.sql(text)
    endless = statements(spark)
    for statement in islice(endless, KINDS):  # what is kept once is kept then
        statement()
    before = held(spark)
    for statement in islice(endless, _ROUNDS * KINDS):
        statement()
    after = held(spark)
    assert after.threads <= before.threads + 2, "one for each that calls at once, not one for each query"
    assert after.handles <= before.handles + 2
    assert after.proxies <= before.proxies + 1, "Java lets go of sessions, tables and scans"
    assert after.bindings < before.bindings + KINDS, "so does Python of what it was handed"
    assert after.workers <= before.workers + 2
