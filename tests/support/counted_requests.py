"""A storage that counts requests, and the longest chain of requests that wait for one another.

The chain is computed from the calls and their threads, without a clock. Requests of one thread are a chain. A thread's
chain continues its caller's, and the caller continues when all its threads have ended. If there are more calls than
threads, some calls wait.
"""

from __future__ import annotations

import builtins
import hashlib
import heapq
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

from paimon_core.io import side_by_side, threads
from paimon_core.io.delegating import DelegatingFileIO
from paimon_core.io.file_io import FileIO, FileStatus
from paimon_core.io.local import LocalFileIO
from paimon_core.io.objects.store import AT_ONCE

BULK = 1000  # the most files that one request deletes
REQUESTS = (
    "read_bytes",
    "read_tagged",
    "write_bytes",
    "replace_file",
    "replace_tagged",
    "create_exclusive",
    "exists",
    "status",
    "list",
    "open_input",
)
REQUESTS += ("read_ranges", "open_output", "move_file", "copy_file")
REQUESTS += ("delete", "delete_below", "delete_many_below", "delete_dir", "delete_dir_below", "make_dirs", "rename_dir")


@dataclass
class Branch:
    """The requests of one call in one thread. `length` is the length of its chain so far."""

    length: int = 0


@dataclass
class Requests:
    """The requests of a block, as `name path`, and their longest chain after the block has ended."""

    made: list[str] = field(default_factory=list)
    chain: int = 0

    @property
    def count(self) -> int:
        return len(self.made)


_BRANCH: ContextVar[Branch] = ContextVar("branch")


class CountedPool(ThreadPoolExecutor):
    """Threads of `side_by_side`. Each call's chain continues the caller's, and the caller continues when all have
    ended.
    """

    def __init__(self, most: int, **named: Any) -> None:
        super().__init__(most, **named)
        self.width, self.caller, self.calls = most, _BRANCH.get(), list[Branch]()

    def submit(self, run: Callable[..., Any], *arguments: Any) -> Future[Any]:  # type: ignore[override]
        self.calls.append(branch := Branch())

        def call(act: Callable[..., Any], *given: Any) -> Any:
            _BRANCH.set(branch)
            return act(*given)

        return super().submit(run, call, *arguments)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        lengths = [0] * self.width
        for length in sorted((c.length for c in self.calls), reverse=True):
            heapq.heapreplace(lengths, lengths[0] + length)
        self.caller.length += max(lengths)


class CountingIO(DelegatingFileIO):
    """`inner` as a remote storage: several requests at once, no queue of writers, and every request is counted."""

    def __init__(self, inner: FileIO | None = None) -> None:
        self.inner, self.requests = inner or LocalFileIO(), Requests()

    @property
    def requests_at_once(self) -> int:
        return AT_ONCE

    def _io(self) -> FileIO:
        return self.inner

    @property
    def is_near(self) -> bool:
        return False

    def files_below(self, path: str) -> builtins.list[str] | None:
        """Find them by one request, as an object store does."""
        self.request("files_below", path, 1, at_once=1)
        return sorted(self._below(path))

    def _below(self, path: str) -> Iterator[str]:
        for file in self.inner.list(path):
            yield from self._below(file.path) if file.is_dir else [file.path]

    @contextmanager
    def writer_slot(self, path: str) -> Iterator[bool]:  # type: ignore[override]
        yield False

    @contextmanager
    def counted(self) -> Iterator[Requests]:
        made, root = Requests(), Branch()
        self.requests = made
        token = _BRANCH.set(root)
        try:
            with (
                patch.object(side_by_side, "ThreadPoolExecutor", CountedPool),
                patch.object(threads, "ThreadPoolExecutor", CountedPool),
            ):
                yield made
        finally:
            _BRANCH.reset(token)
            made.chain, self.requests = root.length, Requests()

    def request(self, name: str, path: str, times: int, at_once: int) -> None:
        self.requests.made += [f"{name} {path}"] * times
        _BRANCH.get(Branch()).length += -(-times // at_once)


def _counting(name: str) -> Callable[..., Any]:
    def call(self: CountingIO, *arguments: Any, **named: Any) -> Any:
        requests = -(-len(arguments[1]) // BULK) if name == "delete_many_below" else 1
        self.request(name, arguments[0], requests, at_once=AT_ONCE)
        return getattr(self.inner, name)(*arguments, **named)

    return call


for _name in REQUESTS:
    setattr(CountingIO, _name, _counting(_name))


class TaggingIO(CountingIO):
    """A remote storage that gives tags of files, as object stores do. Equal contents have equal tags. A folder without
    files does not exist.
    """

    def rename_dir(self, source: str, target: str) -> None:
        if self.inner.exists(target) and not any(self._below(target)):
            self.inner.delete_dir(target)
        super().rename_dir(source, target)

    def list(self, path: str) -> Iterator[FileStatus]:
        for file in super().list(path):
            with suppress(FileNotFoundError):  # another client has deleted it since
                yield file if file.is_dir else replace(file, modified=0, tag=_tag(self.inner.read_bytes(file.path)))

    def read_tagged(self, path: str) -> tuple[bytes, str | None]:
        data, _ = super().read_tagged(path)
        return data, _tag(data)

    def replace_tagged(self, path: str, data: bytes, tag: str | None) -> bool:
        is_same = tag is None or _tag(self.inner.read_bytes(path)) == tag
        return is_same and super().replace_tagged(path, data, tag)


def _tag(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()
