"""Check a storage: make each call that tables need and measure its time, and let many writers race for one name. The
check creates a folder with a unique name, and deletes exactly the files that it created.
"""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from threading import Barrier

from paimon_core.dataclass import dataclass
from paimon_core.errors import StorageError, UnsafeStorageError
from paimon_core.io.file_io import FileIO, storage_errors
from paimon_core.io.schemes import OTHER, scheme_of

OK, FAILED, UNSAFE = "ok", "failed", "unsafe"
WRITERS, ROUNDS = 16, 8  # per race, and races
_REPEATS, _SMALL, _LARGE, _PIECE = 3, 2**10, 2**23, 2**20  # bytes
_ADVICE = (
    "Use another storage, or a bucket that honours conditional puts (on OSS one without versions), or a JDBC or Hive "
    "catalog with 'lock.enabled' = 'true'. If only one process at a time writes a table, 'commit.unsafe-storage' = "
    "'true' accepts the risk."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one step: `ok`, `failed` or `unsafe`. `millis` is the median time of one call."""

    step: str
    result: str
    millis: float
    detail: str


@dataclass(frozen=True, slots=True)
class _Place:
    """The folder of the check, its files, and the times of the calls of a step in milliseconds."""

    io: FileIO
    folder: str
    files: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def path(self, name: str) -> str:
        """Return the path of a file, and record it, so that `remove` deletes it."""
        path = f"{self.folder}/{name}"
        if path not in self.files:
            self.files.append(path)
        return path

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Record the time of a call."""
        begin = time.perf_counter()
        yield
        self.times.append((time.perf_counter() - begin) * 1000)

    def remove(self, parent: str) -> None:
        """Delete the files of the check, and its folder.

        Raises `StorageError` for the first file that cannot be deleted.
        """
        errors = self.io.delete_many_below(self.folder, self.files)
        for path, error in errors.items():
            raise StorageError(f"Cannot delete {path}, a file of this check: {error}; delete it by hand.") from error
        # the folder's name is unique, so it has no files of other writers
        self.io.delete_dir_below(parent, self.folder)


class _WrongAnswerError(Exception):
    """The storage answered a call with a wrong result."""


def check_storage(io: FileIO, location: str) -> list[Finding]:
    """Check a storage at a folder, which need not exist. Return a finding for each step, in order.

    If a step fails, only `delete` follows. A killed check leaves files in `location`, below `.paimon-check-UUID`.
    """
    place, found = _Place(io, f"{location}/.paimon-check-{uuid.uuid4().hex}"), []
    steps: Sequence[tuple[str, Callable[[_Place], str]]] = (
        ("write", _write),
        ("read", _read),
        ("list", _list),
        ("replace", _replace),
        ("stream", _stream),
        ("commit", partial(_race, location=location)),
    )
    for step, act in steps:
        finding = _finding(place, step, act)
        found.append(finding)
        if finding.result == FAILED:
            break
    return [*found, _finding(place, "delete", partial(_delete, location=location))]


def _finding(place: _Place, step: str, act: Callable[[_Place], str]) -> Finding:
    place.times.clear()
    try:
        result, detail = OK, act(place)
    except UnsafeStorageError as error:
        result, detail = UNSAFE, str(error)
    except (OSError, _WrongAnswerError) as error:
        result, detail = FAILED, str(error)
    return Finding(step, result, round(statistics.median(place.times or [0.0]), 3), detail)


def _content(number: int) -> bytes:
    return f"{number:08d}".encode() * (_SMALL // 8)


def _write(place: _Place) -> str:
    place.io.make_dirs(place.folder)
    for number in range(_REPEATS):
        path = place.path(f"small {number}=%+#ü")
        with place.timed():
            place.io.write_bytes(path, _content(number))
    return f"{_REPEATS} files of {_SMALL} bytes"


def _read(place: _Place) -> str:
    for number, path in enumerate(place.files):
        with place.timed():
            found = place.io.read_bytes(path)
        if found != _content(number):
            raise _WrongAnswerError(f"{path} does not have the bytes that were written.")
    missing = f"{place.folder}/missing"
    try:
        place.io.read_bytes(missing)
    except FileNotFoundError:
        return f"{len(place.files)} files with the bytes that were written; a missing file is reported as missing"
    raise _WrongAnswerError(f"{missing} does not exist, but reading it returned data.")


def _list(place: _Place) -> str:
    with place.timed():
        found = {status.path: status.size for status in place.io.list(place.folder)}
    if found != dict.fromkeys(place.files, _SMALL):
        raise _WrongAnswerError(f"{place.folder} lists {len(found)} files for {len(place.files)}, or other sizes.")
    return f"{len(found)} files with their names and sizes, right after they were written"


def _replace(place: _Place) -> str:
    path = place.path("replaced")
    for number in range(_REPEATS):
        with place.timed():
            place.io.replace_file(path, _content(number))
        if place.io.read_bytes(path) != _content(number):
            raise _WrongAnswerError(f"{path} was replaced, but does not have the new bytes.")
    return f"{_REPEATS} times the new bytes, right after they were written"


def _stream(place: _Place) -> str:
    path = place.path("large")
    piece = bytes(range(256)) * (_PIECE // 256)
    with storage_errors("write", path), place.timed():
        with place.io.open_output(path) as output:
            for _ in range(_LARGE // _PIECE):
                output.write(piece)
        place.io.sync(path)
    with storage_errors("read", path), place.io.open_input(path, _LARGE) as opened:
        if any(opened.read(_PIECE) != piece for _ in range(_LARGE // _PIECE)):
            raise _WrongAnswerError(f"{path} does not have the bytes that were written.")
    return f"a file of {_LARGE} bytes in parts, with the bytes that were written"


def _race(place: _Place, location: str) -> str:
    """Let writers create one file at once, in each round.

    Raises `UnsafeStorageError` unless each round has one winner, and the bytes of the winner stay."""
    with ThreadPoolExecutor(WRITERS, thread_name_prefix="check") as pool:
        unknown = sum(_round(place, pool, place.path(f"race-{n}")) for n in range(ROUNDS))
    scheme = scheme_of(location.partition("://")[0]) if "://" in location else None
    how = "a hard link" if scheme is None else scheme.published if scheme != OTHER else "its own means"
    rest = f"; {unknown} writers got no answer" if unknown else ""
    return f"safe: {ROUNDS} times {WRITERS} writers created one file at once, and one of them won, by {how}{rest}"


def _round(place: _Place, pool: ThreadPoolExecutor, path: str) -> int:
    """Run one round. Return the number of writers without an answer. Raises the same errors as `_race`."""
    barrier = Barrier(WRITERS)

    def create(number: int) -> bool | None:
        barrier.wait()
        try:
            with place.timed():
                return place.io.create_exclusive(path, _content(number))
        except UnsafeStorageError:
            raise
        except StorageError:
            return None  # it is unknown whether the file was created

    answers = list(pool.map(create, range(WRITERS)))
    winners, unknown = [n for n, won in enumerate(answers) if won], answers.count(None)
    if not winners and not unknown:
        raise UnsafeStorageError(f"{WRITERS} writers created {path} at once, and none of them won. {_ADVICE}")
    if len(winners) > 1:
        raise UnsafeStorageError(f"{len(winners)} of {WRITERS} writers created {path} at once. {_ADVICE}")
    try:
        left = place.io.read_bytes(path)
    except FileNotFoundError:
        if not winners:
            return unknown  # none of the requests without an answer arrived
        raise
    if winners and left != _content(winners[0]):
        raise UnsafeStorageError(f"{path} was created once, but does not have the winner's bytes. {_ADVICE}")
    if place.io.create_exclusive(path, _content(WRITERS)) or place.io.read_bytes(path) != left:
        raise UnsafeStorageError(f"{path} was created twice, one after the other. {_ADVICE}")
    return unknown


def _delete(place: _Place, location: str) -> str:
    with place.timed():
        place.remove(location)
    left = [path for path in place.files if place.io.exists(path)]
    if left:
        raise _WrongAnswerError(f"{left[0]} was deleted, but still exists.")
    return f"{len(place.files)} files, and their folder"
