"""What a stream refuses: names of consumers, checkpoints of other tables, tables that were made again, expired rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import (
    InvalidDataError,
    InvalidNameError,
    InvalidOptionError,
    SnapshotNotFoundError,
    TagNotFoundError,
)
from paimon_core.maintenance.branches import create_branch
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.tags import create_tag
from paimon_core.scan.streams.options import ReadLimits, check_batch_options
from paimon_core.scan.streams.position import Position, parse_position
from paimon_core.scan.streams.stream import TableStream
from paimon_core.store.branches import open_branch
from paimon_core.store.consumers import list_consumers
from paimon_sql.catalog.load import load_catalog
from tests.support import stored
from tests.support.streamed import expire, write
from tests.support.tables import of_version

ALL = ReadLimits()
FILE_BY_FILE = ReadLimits(files=1)
ROWS = [(k, "v1") for k in range(20)]
BUCKETS = {"bucket": "2", "bucket_key": "k"}


def stream(warehouse: str, **options: str) -> TableStream:
    spelled = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    return TableStream(stored.open_table(warehouse).with_options(spelled).store)


@pytest.mark.parametrize("name", ["", " ", ".", "..", "../c", "a/b", "/etc/x", "a\0b", "a\nb", "x" * 300])
def test_consumers_that_cannot_be_files(warehouse: str, name: str) -> None:
    stored.create_table(warehouse)
    before = sorted(Path(warehouse).parent.rglob("*"))
    with pytest.raises(InvalidNameError, match="consumer name"):
        stream(warehouse, consumer_id=name)
    assert sorted(Path(warehouse).parent.rglob("*")) == before


@pytest.mark.parametrize(
    "options",
    [
        {"incremental-between": "1,2"},
        {"incremental-between-timestamp": "1,2"},
        {"incremental-to-auto-tag": "x"},
        {"scan.watermark": "1"},
        {"scan.version": "1"},
        {"scan.mode": "incremental"},
        {"scan.mode": "latest-delta"},
    ],
)
def test_options_of_batch_queries(warehouse: str, options: dict[str, str]) -> None:
    table = stored.create_table(warehouse)
    with pytest.raises(InvalidOptionError, match=r"is for batch queries, but table default\.t is read as a stream"):
        TableStream(table.with_options(options).store)


@pytest.mark.parametrize(
    "key",
    [
        *("maxFilesPerTrigger", "maxBytesPerTrigger", "maxRowsPerTrigger", "minRowsPerTrigger", "maxTriggerDelayMs"),
        *("consumer-id", "consumer.ignore-progress", "scan.bounded.watermark"),
    ],
)
def test_options_of_streams_in_batch_queries(key: str) -> None:
    whole = f"read.stream.{key}" if key.endswith(("Trigger", "Ms")) else key
    for spelled in (whole, whole.lower()):
        with pytest.raises(
            InvalidOptionError, match=f"'{spelled}' is for streams, but table t is read by a batch query"
        ):
            check_batch_options("t", ["scan.snapshot-id", spelled])
    check_batch_options("t", ["scan.snapshot-id", "scan.mode"])


def test_a_checkpoint_of_another_table(warehouse: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    for folder in (warehouse, other):
        stored.create_table(folder)
        write(folder, ROWS)
    of_other = stream(other)
    end = of_other.latest(of_other.initial(), ALL)
    for act in (lambda s: s.latest(end, ALL), lambda s: s.plan(end, end)):
        with pytest.raises(InvalidDataError, match=r"The checkpoint belongs to .*, but table default\.t is "):
            act(stream(warehouse))
    with pytest.raises(InvalidDataError, match="not an offset of a Paimon table"):
        parse_position('{"logOffset": 3}')  # of another source


def test_a_table_that_is_made_again_beneath_a_running_stream(warehouse: str) -> None:
    stored.create_table(warehouse)
    write(warehouse, ROWS)
    running = stream(warehouse)
    end = running.latest(running.initial(), ALL)
    catalog = load_catalog({"warehouse": warehouse})
    catalog.drop_table(stored.T)
    with pytest.raises(SnapshotNotFoundError, match="was dropped while a stream reads it"):
        running.latest(end, ALL)
    stored.create_table(warehouse)
    write(warehouse, ROWS)
    write(warehouse, ROWS)
    with pytest.raises(InvalidDataError, match="dropped and created again.*new checkpoint"):
        running.latest(end, ALL)


def test_branches_and_tags(warehouse: str) -> None:
    """A branch is another table, a tag is where a stream starts."""
    table = stored.create_table(warehouse)
    write(warehouse, ROWS[:5])
    latest = table.latest_snapshot()
    assert latest is not None
    create_tag(table.store, "five", latest)
    create_branch(table.store, "dev", "five")
    write(warehouse, ROWS[5:])
    of_branch = TableStream(open_branch(table.store, "dev"))
    end = of_branch.latest(of_branch.initial(), ALL)
    assert sum(f.row_count for s in of_branch.plan(of_branch.initial(), end).splits for f in s.files) == 5
    with pytest.raises(InvalidDataError, match=r"belongs to dev@.* is main@"):
        stream(warehouse).latest(end, ALL)
    tagged = stream(warehouse, scan__tag_name="five")
    assert tagged.initial().snapshot_id == latest.id and tagged.initial().scan
    with pytest.raises(TagNotFoundError, match="no tag 'missing'"):
        stream(warehouse, scan__tag_name="missing").initial()


@pytest.mark.parametrize("consumer", [{}, {"consumer_id": "c"}])
def test_a_first_snapshot_that_expires_while_it_is_read(warehouse: str, consumer: dict[str, str]) -> None:
    stored.create_table(warehouse, **BUCKETS)
    write(warehouse, ROWS)
    running = stream(warehouse, **consumer)
    start = running.initial()
    middle = running.latest(start, FILE_BY_FILE)
    running.committed(start)
    assert middle.scan and not middle.is_complete
    for _ in range(3):
        write(warehouse, [(30, "v2")])
    expire(warehouse, 1)
    again = stream(warehouse, **consumer)
    if not consumer:
        with pytest.raises(SnapshotNotFoundError, match="Snapshot 1 .*before the stream had read all.*'consumer-id'"):
            again.latest(middle, ALL)
        return
    end = again.latest(again.latest(middle, ALL), ALL)
    assert end.snapshot_id == 4
    again.committed(end)
    assert list_consumers(again.store) == {"c": 5}, "the first snapshot is kept no longer"


def test_a_position_behind_the_table(warehouse: str) -> None:
    stored.create_table(warehouse)
    write(warehouse, ROWS)
    with pytest.raises(InvalidDataError, match="has read snapshot 7 .*rolled back, and its latest snapshot is 1"):
        stream(warehouse).latest(Position(7, 0, total=1), ALL)


@pytest.mark.parametrize("version", [1, 3])  # 1: of Paimon 0.4 to 0.7, with snapshots that have no uuid
def test_a_rollback_behind_the_position_is_detected_after_other_commits(warehouse: str, version: int) -> None:
    table = stored.create_table(warehouse)
    of_version(table.store, version)
    for value in ("a", "b"):
        write(warehouse, [(1, value)])
    end = stream(warehouse).latest(stream(warehouse).initial(), ALL)
    assert end.snapshot_id == 2 and parse_position(end.json()) == end
    assert stream(warehouse).latest(end, ALL) == end
    roll_back(table.store, snapshot_id=1)
    for value in ("c", "d"):
        write(warehouse, [(1, value)])
    with pytest.raises(InvalidDataError, match="has read snapshot 2 .*rolled back"):
        stream(warehouse).latest(end, ALL)
