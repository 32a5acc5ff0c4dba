"""Work on a table that is running: writes of statements, compactions and other upkeep of any process.

    TABLE/upkeep/running-UUID   what a process is doing, as JSON; other engines ignore the folder

A process writes the file if its work takes more than some seconds, writes it again every 15 seconds, and deletes it at
the end. So short work costs no request. A file that was not written for ten minutes belongs to a killed process.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from paimon_core.clock import now_millis
from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError
from paimon_core.io.file_io import FileStatus
from paimon_core.io.side_by_side import side_by_side
from paimon_core.progress import Phase, PhaseProgress, showing
from paimon_core.spec.json_object import decode_json_object, member
from paimon_core.spec.paths import is_running_work
from paimon_core.store.schemas import schema_ids
from paimon_core.store.table_store import TableStore

_FIRST, _EVERY = 5.0, 15.0  # seconds
_LASTING, _DAY = 600_000, 86_400_000  # milliseconds
_MOST = 100  # files that are read
_LARGEST = 2**12  # bytes of a file
_LONGEST = 500  # characters of the description of a job
_LAST = 2**47  # milliseconds until the year 6429, which all dates can show
_LONGEST_UNIT = 30  # characters
_NUMBERS = 2**31  # numbers and seconds of a job are less, so that columns can show the seconds left
_JOIN = 10.0  # seconds for the last request
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningWork:
    """Work on a table: its name, such as "compact", the time when it began, the host that does it, the time when it was
    last seen, and its newest phase. Times are in epoch milliseconds; `began` is by the clock of the host, `seen` by the
    clock of the storage.
    """

    work: str
    began: int
    host: str
    process: int
    seen: int
    job: PhaseProgress | None = None

    @property
    def progress(self) -> tuple[str | None, int | None, int | None, str | None, float | None, int | None]:
        """The newest phase: its description, the units that are done, their total number, the unit, the rate, and the
        seconds left.
        """
        job = self.job
        if job is None:
            return (None,) * 6
        return job.description, job.done, job.count or None, job.unit, job.rate, job.seconds_left


def running_work(store: TableStore) -> list[RunningWork]:
    """Return the work on a table that is running, the oldest first. Work of the last seconds may be missing."""
    now = now_millis()
    found = [f for f in _files(store) if now - f.modified < _LASTING]
    newest = sorted(found, key=lambda f: -f.modified)[:_MOST]
    read = side_by_side(store.io, partial(_read, store), newest)
    return sorted((w for w in read if w is not None), key=lambda w: w.began)


class Announcement:
    """Lets other processes see work on a table, from its sixth second until `end`. It never raises."""

    def __init__(self, work: str) -> None:
        self._work, self._ended, self._began = work, threading.Event(), now_millis()
        self._thread: threading.Thread | None = None
        self._phase: Phase | None = None

    def follow(self, phase: Phase) -> None:
        """Show a phase from now on."""
        self._phase = phase

    def begin(self, store: TableStore) -> None:
        """Name the table. Later calls have no effect."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._follow, args=(store,), name="running work", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Take the announcement back soon."""
        self._ended.set()

    def end(self) -> None:
        """Take the announcement back."""
        self.stop()
        if self._thread is not None:
            self._thread.join(_JOIN)

    def _follow(self, store: TableStore) -> None:
        if self._ended.wait(_FIRST):
            return
        path = store.paths.running(str(uuid.uuid4()))
        try:
            _delete_outdated(store)
            while schema_ids(store.io, store.root):  # a file would make the folder of a dropped table anew
                store.io.write_bytes(path, self._text())
                if self._ended.wait(_EVERY):
                    break
        except Exception as error:  # the table may be read only
            _LOG.debug("Running work of %s is not shown: %s", store.name, error, extra=store.log_fields())
        finally:
            try:
                store.io.delete_below(store.root, path)
            except Exception as error:
                _LOG.debug("%s could not be deleted: %s", path, error, extra=store.log_fields())

    def _text(self) -> bytes:
        node = {"work": self._work, "began": self._began, "host": socket.gethostname(), "process": os.getpid()}
        if self._phase is None:
            return json.dumps(node).encode()
        now = self._phase.progress
        job = {"job": now.description[:_LONGEST], "done": now.done, "count": now.count, "unit": now.unit}
        return json.dumps({**node, **job, "seconds": round(now.seconds, 1)}).encode()


@contextmanager
def announced(store: TableStore, work: str) -> Iterator[Announcement]:
    """Let other processes see work on a table and its phases during the block, if it takes some seconds."""
    announcement = Announcement(work)
    announcement.begin(store)
    try:
        with showing(announcement):
            yield announcement
    finally:
        announcement.end()


def _files(store: TableStore) -> list[FileStatus]:
    return [f for f in store.io.list(store.paths.turn_dir) if not f.is_dir and is_running_work(f.name)]


def _read(store: TableStore, file: FileStatus) -> RunningWork | None:
    """Return the work in a file, None if it has ended, or if the file is not valid."""
    try:
        node = decode_json_object(file.path, store.io.read_bytes(file.path, _LARGEST))
        found = RunningWork(
            work=member(node, "work", str, "work"),
            began=member(node, "began", int, file.modified),
            host=member(node, "host", str, ""),
            process=member(node, "process", int, 0),
            seen=file.modified,
            job=_job(node),
        )
    except (FileNotFoundError, PaimonError, TypeError):
        return None
    return found if 0 <= found.began < _LAST and 0 <= found.process < _LAST else None


def _job(node: Mapping[str, Any]) -> PhaseProgress | None:
    """Return the phase in a file, None if there is none, or if its numbers are not valid. Raises `TypeError`."""
    seconds = node.get("seconds", 0.0)
    found = PhaseProgress(
        description=member(node, "job", str, ""),
        done=member(node, "done", int, 0),
        count=member(node, "count", int, 0),
        unit=member(node, "unit", str, "")[:_LONGEST_UNIT],
        seconds=seconds if isinstance(seconds, int | float) and 0 <= seconds < _NUMBERS else 0.0,
    )
    is_valid = 0 <= found.done <= (found.count or _NUMBERS) <= _NUMBERS
    return found if found.description and is_valid else None


def _delete_outdated(store: TableStore) -> None:
    """Delete the files that killed processes left a day ago."""
    now = now_millis()
    for file in _files(store):
        if now - file.modified > _DAY:
            store.io.delete_below(store.root, file.path)
