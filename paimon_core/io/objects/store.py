"""`FileIO` for object stores.

Atomic create is a conditional put. Some S3-compatible storages accept the request and ignore the condition, and OSS
ignores its header in buckets with versions. So before its first create in a bucket, a process proves that a second
create of the same object is refused. OBS and COS promise no condition: there a race proves it, too, first with S3's
condition, then with the header of the storage.

Object stores have no folders: `make_dirs` leaves a hidden, empty `.folder` object that listings do not show.
"""

from __future__ import annotations

import builtins
import enum
import errno
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import field
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import NativeFile

from paimon_core.dataclass import dataclass
from paimon_core.errors import StorageError, StorageRefusedError, UnsafeStorageError
from paimon_core.io.counted_calls import counted_call
from paimon_core.io.file_io import MOST_TEXT, FileStatus, storage_error, temporary_name, too_large, whole_part
from paimon_core.io.objects.clients import Client, client_of
from paimon_core.io.objects.failures import (
    code_of,
    is_first_try,
    is_transient,
    is_unreachable,
    object_errors,
    status_of,
)
from paimon_core.io.objects.files import END, WHOLE, ObjectReader, ObjectWriter
from paimon_core.io.schemes import scheme_of
from paimon_core.io.side_by_side import both, delete_side_by_side, outcome_of, side_by_side
from paimon_core.metrics import PROCESS, Metrics
from paimon_core.optional_packages import import_optional

T = TypeVar("T")
AT_ONCE = 32  # parallel requests: an object store has many servers, so more of them take no longer
_FOLDER_MARK = ".folder"
_MANY = 1000  # objects per request that deletes or lists
_WRITES = 4  # parallel uploads of parts of a file
_BUSY = (0.02, 0.05, 0.1, 0.2, 0.4, *(0.8,) * 40)  # seconds between tries of a create that the storage postpones
_PAUSES = (0.05, 0.2, 0.5)  # seconds between tries after the connection has ended
_MOST_COPY = 5 * 10**9  # bytes that a storage copies by one request
_CONFLICT, _NOT_IMPLEMENTED = 409, 501
_RACERS, _ROUNDS = 8, 4  # writers at once, and objects, of the proof by a race
_TAKEN = frozenset(("FileAlreadyExists", "ObjectAlreadyExists"))  # codes: the object exists, by the header's refusal
_UNKNOWN = frozenset(("InvalidArgument", "InvalidRequest", "NotImplemented"))  # codes: no such condition
_POSTPONED = frozenset(("ConditionalRequestConflict", "OperationAborted"))  # codes: another request is running


@dataclass(frozen=True, slots=True)
class ObjectStoreFileIO:
    """`FileIO` for `scheme://bucket/key`.

    `options` are settings of the catalog for storages; they may contain secrets.
    """

    scheme: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    metrics: Metrics = field(default=PROCESS, repr=False, compare=False)

    @property
    def atomic_create(self) -> bool:
        return scheme_of(self.scheme).is_safe

    @property
    def requests_at_once(self) -> int:
        return AT_ONCE

    @property
    def is_near(self) -> bool:
        return False

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        return self._content(path, most)[0]

    def read_tagged(self, path: str) -> tuple[bytes, str | None]:
        return self._content(path, MOST_TEXT)

    def _content(self, path: str, most: int) -> tuple[bytes, str | None]:
        def read(store: Any, key: str) -> tuple[bytes, str | None]:
            found = _obstore().get(store, key)
            if found.meta["size"] > most:
                raise too_large(path, most)
            return bytes(found.bytes()), _tag(found.meta)

        return self._call("read", path, read)

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        total, start, piece = self._call("read", path, partial(_begin, size=size))
        if len(piece) == total:
            return pa.BufferReader(piece)
        return pa.PythonFile(ObjectReader(partial(self.read_ranges, path), total, (start, piece)), mode="r")

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> builtins.list[bytes]:
        wanted = [(offset, length) for offset, length in ranges if length]
        starts, lengths = [offset for offset, _ in wanted], [length for _, length in wanted]

        def read(store: Any, key: str) -> builtins.list[bytes]:
            if not wanted:
                return []
            return [bytes(part) for part in _obstore().get_ranges(store, key, starts=starts, lengths=lengths)]

        try:
            parts = iter(self._call("read", path, read))
        except StorageError as error:
            raise self._beyond(path, wanted) or error from None
        return [whole_part(path, next(parts), offset, length) if length else b"" for offset, length in ranges]

    def _beyond(self, path: str, ranges: Sequence[tuple[int, int]]) -> EOFError | None:
        """Return the error for a part that a file does not have. The client's error does not show this."""
        with suppress(OSError):
            size = self.status(path).size
            for offset, length in ranges:
                if offset + length > size:
                    return EOFError(f"{path} has {max(0, size - offset)} of {length} bytes from {offset} on")
        return None

    def write_bytes(self, path: str, data: bytes) -> None:
        self._call("write", path, lambda store, key: _obstore().put(store, key, data, use_multipart=len(data) > WHOLE))

    def open_output(self, path: str) -> NativeFile:
        def begin(store: Any, key: str) -> Any:
            return _obstore().open_writer(store, key, buffer_size=WHOLE, max_concurrency=_WRITES)

        writer = self._call("write", path, begin)
        return pa.PythonFile(ObjectWriter(writer, lambda: object_errors("write", path, self.options)), mode="w")

    def replace_file(self, path: str, data: bytes) -> None:
        self.write_bytes(path, data)  # a put replaces the whole object

    def replace_tagged(self, path: str, data: bytes, tag: str | None) -> bool:
        kind = scheme_of(self.scheme).kind
        if tag is None or kind in _WAYS:  # OSS, OBS and COS promise no condition for puts over existing objects
            self.replace_file(path, data)
            return True

        def put(store: Any, key: str) -> bool:
            mode = {"e_tag": f'"{tag}"'}
            try:
                if kind == "gcs":  # its condition is on the generation of the object
                    found = _obstore().head(store, key)
                    if _tag(found) != tag:
                        return False
                    mode["version"] = found["version"]
                _obstore().put(store, key, data, mode=mode, use_multipart=False)
            except (FileNotFoundError, _obstore().exceptions.PreconditionError):
                return False
            except Exception as error:
                if status_of(error) == _NOT_IMPLEMENTED:  # some storages of S3's protocol have no conditions
                    _obstore().put(store, key, data, use_multipart=False)
                elif code_of(error) == "PreconditionFailed":
                    return False
                else:
                    raise
            return True

        with suppress(FileNotFoundError):
            # the client repeats a request if the answer is lost: then the storage may refuse the second one
            if self._call("replace", path, put):
                return True
            try:
                return self.read_bytes(path) == data
            except StorageRefusedError as error:
                raise StorageError(str(error)) from None  # the first request may have replaced it
        return False

    def create_exclusive(self, path: str, data: bytes) -> bool:
        way = _proof(self, path.split("/")[2]).way(partial(_proven_way, self, path.rpartition("/")[0]))
        if way is None:
            raise UnsafeStorageError(
                f"Cannot create {path} safely: the storage ignores the condition of a conditional put, so two commits "
                "at once could overwrite each other. Use a storage or a bucket that honours it (on OSS and COS one "
                "without versions) or a JDBC or Hive catalog with 'lock.enabled' = 'true', or accept the risk for a "
                "table that one process writes at a time with 'commit.unsafe-storage' = 'true'."
            )
        created, found = self._create(path, data, way)
        if not created and found == data:
            raise StorageError(
                f"It is unknown whether this call created {path}: the file has the same bytes, and the client "
                "repeats a request if the answer is lost. Read the file to see which writer created it."
            )
        return created

    def _create(self, path: str, data: bytes, way: Way) -> tuple[bool, bytes | None]:
        """Create an object. Return whether it was created, and otherwise the content of the existing object."""
        is_refused = True  # the storage has done nothing so far
        for pause in _BUSY:
            try:
                refusal = self._put_new(path, data, way)
                if refusal is None:
                    return True, None
                is_refused = is_refused and is_first_try(refusal)
                with suppress(FileNotFoundError):
                    return False, self.read_bytes(path)
            except StorageRefusedError as error:
                if is_refused:
                    raise
                raise StorageError(str(error)) from None  # an earlier try may have created it
            if status_of(refusal) != _CONFLICT or code_of(refusal) in _TAKEN:
                return False, None  # it existed, and has been deleted since
            time.sleep(pause * random.uniform(0.5, 1.0))  # another create of this object is running, and may fail
        raise _postponed(path, is_refused)

    def _put_new(self, path: str, data: bytes, way: Way) -> Exception | None:
        """Put an object that must not exist. Return the client's refusal, or None.

        Raises `UnsafeStorageError` if the storage does not know the condition.
        """
        client, key = self._client(path), _key(path)
        has_header = way is Way.HEADER

        def put(store: Any) -> None:
            _obstore().put(
                client.creating if has_header else store,
                key,
                data,
                mode="overwrite" if has_header else "create",
                use_multipart=False,
            )

        with object_errors("create", path, self.options), counted_call(self.metrics, self.scheme, "create"):
            try:
                client.call(put)  # pass a refusal on to the client, which then knows that this is not the first try
            except _obstore().exceptions.AlreadyExistsError as error:
                return error  # type: ignore[no-any-return]
            except Exception as error:
                if code_of(error) == "PreconditionFailed" or code_of(error) in _TAKEN:
                    return error
                if status_of(error) == _NOT_IMPLEMENTED or (status_of(error) == 400 and code_of(error) in _UNKNOWN):
                    raise UnsafeStorageError(f"Cannot create {path} safely: {code_of(error)}.") from None
                raise
            return None

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return nullcontext(False)

    def exists(self, path: str) -> bool:
        head = partial(self._call, "look up", path, _head, ask=_get)
        as_file, has_below = both(self, partial(outcome_of, head), partial(outcome_of, partial(self._is_folder, path)))
        with suppress(FileNotFoundError):
            as_file()
            return True
        return has_below()

    def _is_folder(self, path: str) -> bool:
        return self._call("look up", path, _has_below)

    def signed_url(self, path: str, seconds: int) -> str:
        """Return an address from which anyone can read a file for some seconds. Sends no request, except for
        credentials. Raises `StorageError` if the credentials cannot sign."""
        valid = timedelta(seconds=seconds)
        return str(self._call("sign", path, lambda store, key: _obstore().sign(store, "GET", key, valid)))

    def status(self, path: str) -> FileStatus:
        with suppress(FileNotFoundError):
            return _status(path, self._call("look up", path, _head, ask=_get))
        if not self._is_folder(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return FileStatus(path, 0, True, int(time.time() * 1000))

    def list(self, path: str) -> Iterator[FileStatus]:
        def ask(store: Any, key: str) -> builtins.list[FileStatus]:
            answer = _again(lambda: _obstore().list_with_delimiter(store, key or None))
            folders = [FileStatus(_child(path, p), 0, True, _now()) for p in answer["common_prefixes"]]
            objects = [o for o in answer["objects"] if o["path"] != key and _name(o["path"]) != _FOLDER_MARK]
            return folders + [_status(_child(path, o["path"]), o) for o in objects]

        return iter(self._call("list", path, ask))

    def files_below(self, path: str) -> builtins.list[str] | None:
        def ask(store: Any, key: str) -> builtins.list[str] | None:
            pages = iter(_obstore().list(store, key, chunk_size=_MANY))
            first: builtins.list[Any] = next(pages, [])
            if len(first) >= _MANY and next(pages, None):
                return None
            return [path + o["path"][len(key) :] for o in first]

        return self._call("list", path, lambda store, key: _again(lambda: ask(store, key)))

    def make_dirs(self, path: str) -> None:
        def make(store: Any, key: str) -> None:
            if key and not _has_below(store, key):
                _obstore().put(store, f"{key}/{_FOLDER_MARK}", b"")

        self._call("create folder", path, make)

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._call("delete", path, lambda store, key: _delete(store, [key]))

    def delete_below(self, root: str, path: str) -> None:
        self.delete(path)

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        def delete(group: Sequence[str]) -> Sequence[str]:
            try:
                self._call("delete", root, lambda store, _: _delete(store, [_key(path) for path in group]))
            except OSError:
                return group
            return ()

        groups = [paths[at : at + _MANY] for at in range(0, len(paths), _MANY)]
        failed = [path for group in side_by_side(self, delete, groups) for path in group]
        return delete_side_by_side(self, root, failed)  # each file alone, to get its own error

    def delete_dir_below(self, root: str, path: str) -> None:
        self.delete_dir(path)

    def delete_dir(self, path: str) -> None:
        def delete(store: Any, key: str) -> None:
            for found in _obstore().list(store, key, chunk_size=_MANY):
                _delete(store, [o["path"] for o in found])

        with suppress(FileNotFoundError):
            self._call("delete folder", path, lambda store, key: _again(lambda: delete(store, key)))

    def delete_empty_dir_below(self, root: str, path: str) -> bool:
        return False  # object stores have no folders

    def rename_dir(self, source: str, target: str) -> None:
        if self.exists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        keys = self._call("list", source, _all_below)
        if not keys:
            self.status(source)
        skip = len(_key(source))
        pairs = [(source + key[skip:], target + key[skip:]) for key in keys]
        side_by_side(self, lambda pair: self.copy_file(*pair), pairs)
        self.delete_dir(source)

    def move_file(self, source: str, target: str) -> None:
        self.copy_file(source, target)
        self.delete(source)

    def copy_file(self, source: str, target: str) -> None:
        try:
            self._call("copy", source, lambda store, key: _obstore().copy(store, key, _key(target)), to=target)
        except StorageError:
            if self.status(source).size <= _MOST_COPY:
                raise
            with self.open_input(source) as reader, self.open_output(target) as writer:
                while chunk := reader.read(WHOLE):
                    writer.write(chunk)

    def sync(self, path: str) -> None:
        """Do nothing: a closed file is as durable as the storage makes it."""

    def _client(self, path: str) -> Client:
        return client_of(self.scheme, path.split("/")[2], self.options)

    def _call(
        self,
        action: str,
        path: str,
        act: Callable[[Any, str], T],
        ask: Callable[[Any, str], object] | None = None,
        *,
        to: str = "",
    ) -> T:
        """Call the store. Metrics count calls by `action`, a short name from a small set. Errors also name the path
        `to`.
        """
        client, key = self._client(path), _key(path)
        again = None if ask is None else lambda: client.call(lambda store: ask(store, key))
        errors = object_errors(f"{action} to {to}" if to else action, path, self.options, again)
        with errors, counted_call(self.metrics, self.scheme, action):
            return client.call(lambda store: act(store, key))


def _obstore() -> Any:
    return import_optional("obstore", "An object store", "s3")


class Way(enum.Enum):
    """The ways to put an object only if it does not exist."""

    CONDITION = "the condition If-None-Match"
    HEADER = "the storage's header forbid-overwrite"


_WAYS = {"oss": (Way.HEADER,), "obs": tuple(Way), "cos": tuple(Way)}
_RACED = ("obs", "cos")  # kinds of storages that promise no condition


class _Proof:
    """The proof that creates in a bucket are safe in one way.

    Only success is remembered: after a failure, the storage's configuration may be corrected, so the next create tries
    again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._proven: Way | None = None

    def way(self, prove: Callable[[], Way | None]) -> Way | None:
        """Return the way that was proven, now or earlier. Creates that begin at the same time wait for one proof."""
        if self._proven is None:
            with self._lock:
                self._proven = self._proven or prove()
        return self._proven


@lru_cache(maxsize=256)
def _proof(io: ObjectStoreFileIO, bucket: str) -> _Proof:
    """Return the proof for a bucket. OSS has versions per bucket, and an S3-compatible storage is one endpoint."""
    return _Proof()


def _proven_way(io: ObjectStoreFileIO, folder: str) -> Way | None:
    """Return the first way in which creates are safe, tested with new objects in a folder; None if there is none."""
    kind = scheme_of(io.scheme).kind
    for way in _WAYS.get(kind, (Way.CONDITION,)):
        with suppress(UnsafeStorageError):  # the storage does not know the condition
            if _refuses_second_create(io, folder, way) and (kind not in _RACED or _one_wins(io, folder, way)):
                return way
    return None


def _one_wins(io: ObjectStoreFileIO, folder: str, way: Way) -> bool:
    """Return whether at most one of several writers at once creates an object, and its bytes stay."""
    for _ in range(_ROUNDS):
        probe = f"{folder}/{temporary_name('conditional-put')}"
        texts = [str(number).encode() for number in range(_RACERS)]
        try:
            refusals = side_by_side(io, lambda text: io._put_new(probe, text, way), texts)  # noqa: B023
            won = [text for text, refusal in zip(texts, refusals, strict=True) if refusal is None]
            if won and won != [io.read_bytes(probe)]:
                return False
        finally:
            with suppress(StorageError):
                io.delete(probe)
    return True


def _refuses_second_create(io: ObjectStoreFileIO, folder: str, way: Way) -> bool:
    """Return whether the storage respects the condition of a put, tested with a new object in a folder."""
    probe = f"{folder}/{temporary_name('conditional-put')}"
    try:
        io._create(probe, b"", way)
        for pause in _BUSY:
            refusal = io._put_new(probe, b"", way)
            if refusal is None or code_of(refusal) not in _POSTPONED:
                return refusal is not None
            time.sleep(pause)
        raise _postponed(probe, is_refused=True)
    finally:
        with suppress(StorageError):
            io.delete(probe)


def _postponed(path: str, is_refused: bool) -> StorageError:
    """Return the error for a create that the storage has postponed again and again.

    `is_refused`: every answer said that nothing was done, and no request was repeated by the client.
    """
    cause = "other writers create it at the same time, and none of them succeeds"
    error = storage_error("create", path, cause)
    return StorageRefusedError(str(error)) if is_refused else error


def _begin(store: Any, key: str, size: int | None) -> tuple[int, int, bytes]:
    """Return the size of an object, and the first bytes that its reader needs, with their offset. A small object is
    read as a whole.

    If metadata says that the object is large, one request reads its end and also returns its true size. If metadata is
    wrong, the object may end before that offset; then it is requested like an object of unknown size.
    """
    if size is not None and size > WHOLE:
        try:
            found = _obstore().get(store, key, options={"range": (size - END, size)})
            return int(found.meta["size"]), int(found.range[0]), bytes(found.bytes())
        except FileNotFoundError:
            raise
        except Exception as error:
            if is_unreachable(error) or is_transient(error):
                raise
    found = _obstore().get(store, key)
    total = int(found.meta["size"])
    return total, 0, bytes(found.bytes()) if total <= WHOLE else b""


def _head(store: Any, key: str) -> Mapping[str, Any]:
    if not key:
        raise FileNotFoundError(key)
    return _obstore().head(store, key)  # type: ignore[no-any-return]


def _again(request: Callable[[], T]) -> T:
    """Make a request that may be repeated, again if the connection ends. The client itself repeats no POST, and no
    listing if the answer is cut.
    """
    for pause in _PAUSES:
        try:
            return request()
        except Exception as error:
            if status_of(error) is not None or is_unreachable(error) or not is_transient(error):
                raise
            time.sleep(pause)
    return request()


def _delete(store: Any, keys: builtins.list[str]) -> None:
    _again(lambda: _obstore().delete(store, keys))


def _get(store: Any, key: str) -> None:
    _obstore().get(store, key, options={"range": (0, 1)})


def _has_below(store: Any, key: str) -> bool:
    def has() -> bool:
        return any(True for found in _obstore().list(store, key or None, chunk_size=1) if found)

    return _again(has) or not key


def _all_below(store: Any, key: str) -> builtins.list[str]:
    def paths() -> builtins.list[str]:
        return [o["path"] for found in _obstore().list(store, key, chunk_size=_MANY) for o in found]

    return _again(paths)


def _key(path: str) -> str:
    """Return the key of `scheme://bucket/key`, or "" for the bucket itself."""
    return path.partition("://")[2].partition("/")[2].rstrip("/")


def _name(key: str) -> str:
    return key.rpartition("/")[2]


def _child(folder: str, key: str) -> str:
    return f"{folder.rstrip('/')}/{_name(key)}"


def _status(path: str, found: Mapping[str, Any]) -> FileStatus:
    modified = int(found["last_modified"].timestamp() * 1000)
    return FileStatus(path, int(found["size"]), False, modified, tag=_tag(found))


def _tag(found: Mapping[str, Any]) -> str | None:
    """Return the ETag of an object's content, or None if the storage has no ETags.

    Azure quotes the ETags of objects, but not in lists. A weak ETag does not identify the bytes.
    """
    tag = (found["e_tag"] or "").strip('"')
    return None if not tag or tag.startswith("W/") else tag


def _now() -> int:
    return int(time.time() * 1000)
