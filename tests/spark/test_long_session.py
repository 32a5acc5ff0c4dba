"""A session holds no more after another round of all statements; benchmarks/long_session.py is the long one."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.support.long_session import KINDS, Held, grown, held, set_up, statements

pytestmark = pytest.mark.spark


def test_two_rounds_hold_no_more_than_one(spark: Any, tmp_path: Path) -> None:
    set_up(spark, tmp_path)
    endless = statements(spark, tmp_path)
    for statement in islice(endless, KINDS):  # what is kept once is kept then
        statement()
    before = held(spark)
    for statement in islice(endless, KINDS):
        statement()
    after = held(spark)
    assert after.threads <= before.threads + 2, "one for each that calls at once, not one for each query"
    assert after.handles <= before.handles + 2
    assert after.proxies <= before.proxies + 1, "Java lets go of sessions, tables and scans"
    assert after.bindings < before.bindings + KINDS // 2, "so does Python of what it was handed"
    assert after.workers <= before.workers + 2


def test_what_grew_is_found() -> None:
    flat = Held(*[100] * len(fields(Held)))
    assert grown([flat] * 9) == grown([flat] * 2) == []
    slowly = [replace(flat, proxies=100 + number) for number in range(30)]
    assert grown(slowly) == ["proxies grew from 114.5 to 124.5"]
    assert grown([replace(flat, handles=10 + number // 20) for number in range(30)]) == [], "by one or two is no growth"
    assert grown([replace(flat, threads=1000)] * 3 + [flat] * 6) == [], "what is held at first is let go"
