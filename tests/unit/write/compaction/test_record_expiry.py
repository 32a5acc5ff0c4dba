"""Compactions leave out rows that have expired, and only those."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_core.lsm.strategy import Strategy
from paimon_core.spec.message import BucketState, CommitMessage
from paimon_core.spec.types import BIGINT, INT, STRING, DataType, Kind, TimeType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.bucket import compact_bucket
from paimon_core.write.writer import open_writer
from tests.support.data import Live, files_of, make_batch, make_store, read_rows
from tests.support.tables import fields

TIMES: dict[str, tuple[DataType, Any]] = {
    "seconds": (INT, lambda t: t),
    "seconds in a BIGINT": (BIGINT, lambda t: t),
    "milliseconds": (BIGINT, lambda t: t * 1000),
    "timestamp": (TimeType(Kind.TIMESTAMP, True, 6), lambda t: datetime.fromtimestamp(t, UTC).replace(tzinfo=None)),
    "instant": (TimeType(Kind.TIMESTAMP_LTZ, True, 3), lambda t: datetime.fromtimestamp(t, UTC)),
}


def compact(store: TableStore, live: Live, strategy: Strategy) -> list[CommitMessage]:
    found = [compact_bucket(store, BucketState(p, b, 1, tuple(files)), strategy) for (p, b), files in live.items()]
    return [m for m in found if m is not None]


@pytest.mark.parametrize("kind", TIMES)
def test_expired_rows_go(tmp_path: Path, kind: str) -> None:
    column_type, of_seconds = TIMES[kind]
    options = {"record_level__expire_time": "1 h", "record_level__time_field": "at", "target_file_size": "1 b"}
    store = make_store(tmp_path, {"k": INT, "at": column_type}, keys=["k"], bucket="1", **options)
    now = int(time.time())
    ages = {1: 7200, 2: 3700, 3: 3500, 4: 0, 5: None, 6: -7200}
    rows = [(k, None if age is None else of_seconds(now - age)) for k, age in ages.items()]
    writer = open_writer(store, sequence_start=0)
    writer.write(make_batch(store, rows))
    live = files_of(writer.finish())
    assert [r[0] for r in read_rows(store, live)] == [1, 2, 3, 4, 5, 6], "reads show them"
    lenient = store.with_options({"record-level.expire-time": "100 d"})
    live = files_of(compact(lenient, live, Strategy.FULL), live)
    assert len(read_rows(store, live)) == 6
    (message,) = compact(store, live, Strategy.FULL)
    assert all(f.level == 5 for f in message.compact_before), "files of the last level with expired rows are rewritten"
    live = files_of([message], live)
    assert [r[0] for r in read_rows(store, live)] == [3, 4, 5, 6]
    assert compact(store, live, Strategy.FULL) == []


def test_a_file_that_could_stay_is_rewritten(tmp_path: Path) -> None:
    options = {"record_level__expire_time": "1 h", "record_level__time_field": "at"}
    store = make_store(tmp_path, {"k": INT, "at": INT}, keys=["k"], bucket="1", **options)
    writer = open_writer(store, sequence_start=0)
    writer.write(make_batch(store, [(1, 5), (2, int(time.time()))]))
    live = files_of(writer.finish())
    live = files_of(compact(store, live, Strategy.FULL), live)
    assert [r[0] for r in read_rows(store, live)] == [2]


def test_options_that_do_not_go_together() -> None:
    columns, keys = fields(k=INT, t=STRING, at=INT), ["k"]
    for options, message in (
        ({"record-level.expire-time": "1 h"}, "needs 'record-level.time-field'"),
        ({"record-level.time-field": "nope"}, "nope"),
        ({"record-level.time-field": "t"}, "INT, BIGINT or TIMESTAMP"),
    ):
        with pytest.raises(InvalidOptionError, match=message):
            new_table_schema(columns, options=options, primary_keys=keys)
    with pytest.raises(InvalidOptionError, match="full-compaction"):
        vectors = {"deletion-vectors.enabled": "true", "changelog-producer": "full-compaction", "bucket": "1"}
        new_table_schema(columns, options=vectors, primary_keys=keys)
