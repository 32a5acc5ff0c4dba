from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from paimon_core.errors import CommitConflictError, InvalidOptionError, NotAllowedError, PaimonError, StorageError
from paimon_core.maintenance import partitions
from paimon_core.maintenance.done_partitions import mark_done
from paimon_core.maintenance.partitions import drop_partitions, expired_partitions
from paimon_core.store.allowed import MARK_DONE_URLS, Allowed
from paimon_core.store.manifests import live_files
from paimon_core.store.partition_times import partition_time
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.tags import readable_tags
from paimon_core.table import Table
from paimon_core.time_zones import time_zone
from tests.support.tables import data_file, info, message, new_store


@pytest.mark.parametrize(
    ("values", "pattern", "formatter", "expected"),
    [
        ({"dt": "2024-05-01"}, "", "", datetime(2024, 5, 1)),
        ({"dt": "2024-5-1 7:08:09.5"}, "", "", datetime(2024, 5, 1, 7, 8, 9, 500_000)),
        ({"dt": "20240501"}, "", "yyyyMMdd", datetime(2024, 5, 1)),
        ({"dt": "20240501"}, "", "", None),
        ({"p": "x", "dt": "20240501"}, "$dt", "yyyyMMdd", datetime(2024, 5, 1)),
        ({"dt": "20240501", "hh": "13"}, "$dt $hh", "yyyyMMdd HH", datetime(2024, 5, 1, 13)),
        ({"d": "x", "d2": "2024-05-01"}, "$d2", "", datetime(2024, 5, 1)),
        ({"y": "2024", "m": "5"}, "$y-$m-01", "yyyy-M-dd", datetime(2024, 5, 1)),
        ({"dt": "at 2024-05"}, "", "'at 'yyyy-MM", datetime(2024, 5, 1)),
        ({"dt": None}, "", "", None),
        ({"dt": None, "hh": "1"}, "$dt $hh", "", None),
        ({"dt": "2024-13-41"}, "", "", None),
        ({"dt": "today"}, "", "", None),
    ],
)
def test_the_time_of_a_partition(
    values: dict[str, str | None], pattern: str, formatter: str, expected: datetime | None
) -> None:
    assert partition_time(values, pattern, formatter) == expected


@pytest.mark.parametrize("formatter", ["yyyy-QQ", "EEE", "yyyy yyyy"])
def test_a_formatter_of_other_letters_is_refused(formatter: str) -> None:
    with pytest.raises(InvalidOptionError, match="partition.timestamp-formatter"):
        partition_time({"dt": "2024"}, "", formatter)


def test_partitions_expire_by_value_or_by_change(tmp_path: Path) -> None:
    store = new_store(tmp_path, partition="p", **{"write-only": "true"})
    table = Table(store)
    with pytest.raises(InvalidOptionError, match="cannot expire"):
        expired_partitions(store, datetime(2024, 1, 1))
    for p in (20240101, 20240201, 20240301, None):
        table.commit([message(store, data_file(store, 1, 1), p=p)], info())
    by_value = store.with_options({"partition.expiration-time": "30 d", "partition.timestamp-formatter": "yyyyMMdd"})
    expired = expired_partitions(by_value, datetime(2024, 3, 10))
    assert [store.partition_spec(p)["p"] for p in expired] == ["20240101", "20240201"]
    fewer = by_value.with_options({"partition.expiration-max-num": "1"})
    assert len(expired_partitions(fewer, datetime(2024, 3, 10))) == 1
    by_change = by_value.with_options({"partition.expiration-strategy": "update-time"})  # all made 2024-01-02
    assert len(expired_partitions(by_change, datetime(2024, 1, 2) + timedelta(days=31))) == 4
    assert expired_partitions(by_change, datetime(2024, 1, 20)) == []


def test_the_age_of_values_is_counted_in_the_session_s_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session writes the dates of its own zone, also on a machine in another zone."""
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        options = {"partition.expiration-time": "1 d", "partition.timestamp-formatter": "yyyyMMdd"}
        store = new_store(tmp_path, partition="p", **options, **{"write-only": "true"})
        for p in (20240101, 20240102):
            Table(store).commit([message(store, data_file(store, 1, 1), p=p)], info())
        now, names = datetime(2024, 1, 3, 8), ("America/New_York", None, "Asia/Tokyo", "Pacific/Kiritimati")
        expired = {n: len(expired_partitions(replace(store, zone=n and time_zone(n)), now)) for n in names}
        assert expired == {"America/New_York": 1, None: 2, "Asia/Tokyo": 2, "Pacific/Kiritimati": 2}
        by_change = store.with_options({"partition.expiration-strategy": "update-time"})
        made = datetime(2024, 1, 2)  # of each file, by the machine's clock
        for name in names:
            moved = replace(by_change, zone=name and time_zone(name))
            assert expired_partitions(moved, made + timedelta(days=1)) == []
            assert len(expired_partitions(moved, made + timedelta(days=2))) == 2
    finally:
        monkeypatch.undo()
        time.tzset()


def test_rows_that_come_while_partitions_expire_stay(tmp_path: Path) -> None:
    """By its last change a partition is old no longer then. By its values it still is."""
    store = new_store(tmp_path, partition="p", **{"write-only": "true"})
    table = Table(store)
    table.commit([message(store, data_file(store, 1, 1), p=1)], info())
    old = replace(data_file(store, 2, 1), creation_time=datetime(2020, 1, 1, tzinfo=UTC))
    (found,) = {e.partition for e in live_files(store, latest_snapshot(store)).values()}
    end = datetime(2024, 1, 1)
    with pytest.raises(CommitConflictError, match="was written after its partition was found to have expired"):
        drop_partitions(store, [found], "u", table.publisher, older_than=end)
    assert len(live_files(store, latest_snapshot(store))) == 1
    table.commit([message(store, old, p=2)], info())
    by_name = {e.file.file_name: e.partition for e in live_files(store, latest_snapshot(store)).values()}
    drop_partitions(store, [by_name[old.file_name]], "u", table.publisher, older_than=end)
    assert len(live_files(store, latest_snapshot(store))) == 1
    drop_partitions(store, [found], "u", table.publisher)
    assert live_files(store, latest_snapshot(store)) == {}


@pytest.mark.parametrize("strategy", ["values-time", "update-time"])
def test_expiry_beside_a_commit(strategy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"partition.expiration-time": "1 d", "partition.timestamp-formatter": "yyyyMMdd", "write-only": "true"}
    store = new_store(tmp_path, partition="p", **options, **{"partition.expiration-strategy": strategy})
    table = Table(store)
    old = replace(data_file(store, 1, 1), creation_time=datetime(2020, 1, 1, tzinfo=UTC))
    young = replace(data_file(store, 2, 1), creation_time=datetime(2024, 6, 1, tzinfo=UTC))
    table.commit([message(store, old, p=20200101)], info())
    look = partitions.expired_partitions

    def looked(*values: Any) -> list[bytes]:
        found = look(*values)
        table.commit([message(store, young, p=20200101)], info())
        return found

    monkeypatch.setattr(partitions, "expired_partitions", looked)
    now = datetime(2024, 6, 1, 12)
    if strategy == "values-time":
        assert len(partitions.expire_partitions(store, now, "u", table.publisher)) == 1
        assert live_files(store, latest_snapshot(store)) == {}
        return
    with pytest.raises(CommitConflictError):
        partitions.expire_partitions(store, now, "u", table.publisher)
    assert len(live_files(store, latest_snapshot(store))) == 2


def test_commits_expire_partitions_where_asked(tmp_path: Path) -> None:
    options = {"partition.expiration-time": "30 d", "partition.timestamp-formatter": "yyyyMMdd"}
    store = new_store(tmp_path, partition="p", **options, **{"end-input.check-partition-expire": "true"})
    Table(store).commit([message(store, data_file(store, 1, 1), p=20200101)], info())
    assert live_files(store, latest_snapshot(store)) == {}
    Table(store).commit([message(store, data_file(store, 1, 1), p=99990101)], info())
    assert len(live_files(store, latest_snapshot(store))) == 1


@pytest.mark.parametrize("action", ["success-file", "SUCCESS_FILE", " Success-File "])
def test_done_partitions_have_a_file(tmp_path: Path, action: str) -> None:
    store = new_store(tmp_path, partition="p", **{"partition.mark-done-action": action})
    Table(store).commit([message(store, data_file(store, 1, 1), p=7)], info())
    path = Path(store.root, "p=7", "_SUCCESS")
    assert not path.exists()
    mark_done(store, [{"p": "7"}])
    first = json.loads(path.read_text())
    mark_done(store, [{"p": "7"}])
    again = json.loads(path.read_text())
    assert again["creationTime"] == first["creationTime"] <= again["modificationTime"]


def test_writes_mark_partitions_done_and_tag_batches_where_asked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"write-only": "true", "partition.end-input-to-done": "true", "tag.automatic-creation": "batch"}
    store = new_store(tmp_path, partition="p", **options)
    old, new = data_file(store, 1, 1), data_file(store, 2, 2)
    Table(store).commit([message(store, old, p=7)], info())
    assert [p.parent.name for p in Path(store.root).glob("*/_SUCCESS")] == ["p=7"]
    assert len(readable_tags(store)) == 1
    Path(store.root, "p=7", "_SUCCESS").unlink()
    Table(store).commit([message(store, compact_before=(old,), compact_after=(new,), p=7)], info())
    assert not list(Path(store.root).glob("*/_SUCCESS"))  # a compaction writes no rows
    broken = Table(store).with_options({"partition.mark-done-action": "done-partition"})
    assert broken.commit([message(store, data_file(store, 3, 3), p=8)], info()) is not None
    assert "failed (mark partitions done): Table" in caplog.text


class Listener(BaseHTTPRequestHandler):
    """Keeps the requests that it gets, and answers as it is set to."""

    requests: ClassVar[list[dict[str, Any]]] = []
    answer: ClassVar[bytes] = b'{"result": "success", "more": 1}'

    def do_POST(self) -> None:
        self.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, format: str, *args: Any) -> None:
        """No output."""


def test_done_partitions_are_reported(tmp_path: Path) -> None:
    url = "partition.mark-done-action.http.url"
    actions = {"partition": "p", "partition.mark-done-action": "http-report,success-file"}
    with HTTPServer(("127.0.0.1", 0), Listener) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        given = {url: f"http://127.0.0.1:{server.server_port}/x", "partition.mark-done-action.http.params": "mine"}
        store = new_store(tmp_path, **actions, **given)
        with pytest.raises(NotAllowedError, match=rf"{url}.*allowed-mark-done-urls"):
            mark_done(store, [{"p": "a b"}])
        assert Listener.requests == [] and not Path(store.root, "p=a b").exists()
        own = replace(store.schema, options={**store.schema.options, url: "http://127.0.0.1:1/other"})
        mark_done(replace(store, schema=own), [{"p": "c"}])  # the session's own address
        assert Listener.requests.pop()["partition"] == "p=c/"
        store = replace(store, allowed=Allowed.of({MARK_DONE_URLS: f"http://127.0.0.1:{server.server_port}"}))
        mark_done(store, [{"p": "a b"}])
        assert Listener.requests == [{"params": "mine", "table": "db.t", "path": store.root, "partition": "p=a b/"}]
        assert Path(store.root, "p=a b", "_SUCCESS").exists()
        for answer in (b'{"result": "no"}', b"[]", b"what"):
            Listener.answer = answer
            with pytest.raises(PaimonError, match="a b|is corrupt|not understand"):
                mark_done(store, [{"p": "a b"}])
        server.shutdown()
    with pytest.raises(StorageError, match="could not be reported"):
        mark_done(store, [{"p": "1"}])
    for wrong, value in {url: "file:///etc/passwd", "partition.mark-done-action": "mark-event"}.items():
        with pytest.raises(PaimonError, match=f"{wrong}.*(metastore|http)"):
            mark_done(store.with_options({wrong: value}), [{"p": "1"}])
    assert not Path(store.root, "p=1").exists()
