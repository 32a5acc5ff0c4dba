"""HDFS, by the library hdfs-native: no Hadoop installation and no JVM, in the driver and in tasks.

`create_exclusive` writes a hidden file and renames it without overwriting, which is one edit of the name node: at most
one of many renames to a name succeeds. Paimon's Java connector publishes snapshots in the same way, so writers of both
are safe beside each other.

Name services, encryption and Kerberos are configured by `core-site.xml` and `hdfs-site.xml` in `HADOOP_CONF_DIR`, or in
the folder that the option 'hadoop-conf-dir' names, and by options: `hdfs_settings` lists the supported settings.
Delegation tokens and proxy users come from the environment (`hdfs_users`).
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import field
from functools import lru_cache
from typing import Any, TypeVar

from pyarrow import NativeFile, PythonFile

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError, StorageError
from paimon_core.io.counted_calls import counted_call
from paimon_core.io.failure import on_failure
from paimon_core.io.file_io import (
    AT_ONCE,
    MOST_TEXT,
    FileStatus,
    read_each_range,
    storage_error,
    temporary_name,
    too_large,
)
from paimon_core.io.hadoop import CONF_DIR
from paimon_core.io.hdfs_settings import BLOCK_SIZE, KEYTAB, PRINCIPAL, REPLICATION, UMASK, file_settings, umask
from paimon_core.io.hdfs_users import authority_for, proxy_advice, token_advice
from paimon_core.io.side_by_side import delete_side_by_side
from paimon_core.metrics import PROCESS, Metrics
from paimon_core.optional_packages import import_optional

_PATIENCE = 60.0  # seconds that a call of the name node may take
_FIRST_PATIENCE = 8.0  # seconds for the first call of a process, which finds out whether the name node answers
# The library alone would repeat calls for minutes.
_DEFAULTS = {
    "dfs.client.failover.max.attempts": "5",
    "dfs.client.failover.sleep.base.millis": "100",
    "dfs.client.failover.sleep.max.millis": "1000",
}
_CHUNK = 2**20  # bytes
_REMOTE = re.compile(r'RPCError\("(?P<name>[^"]*)",\s*"(?P<text>.*)', re.DOTALL)
_CODES = (  # the code for an exception of the name node, by a part of its name or text
    ("ParentNotDirectoryException", errno.ENOTDIR),
    ("is not a directory", errno.ENOTDIR),
    ("AccessControlException", errno.EACCES),
    ("AuthorizationException", errno.EACCES),
    ("QuotaExceededException", errno.EDQUOT),
    ("Path is not a file", errno.EISDIR),
)
_NEEDS_KERBEROS = "the cluster requires Kerberos"
_CAUSES = (  # a part of an error, and the cause with the remedy
    ("SafeModeException", "the name node is in safe mode, and refuses changes until it leaves this mode"),
    (
        "StandbyException",
        "the name node is a standby: write the location with the name service, hdfs://NAMESERVICE/path",
    ),
    (
        "could only be written to 0 of",
        "no data node of the cluster accepts new blocks: check that they are up and have space",
    ),
    (
        "No NameNode hosts found",
        "the configuration has no name service with this name: set HADOOP_CONF_DIR, or write host:port",
    ),
    ("No fs.defaultFS setting found", "the location names no host, and the configuration has no fs.defaultFS"),
    (
        "RPC listener disconnected",
        "the name node ended the connection. If the cluster requires Kerberos, set 'hadoop.security.authentication' = "
        "'kerberos', or HADOOP_CONF_DIR",
    ),
    (
        "Connection reset by peer",
        "a node of the cluster ended the connection. If data nodes protect what they send, set the cluster's "
        "'dfs.data.transfer.protection', or HADOOP_CONF_DIR",
    ),
    (
        "is not allowed to impersonate",
        "the cluster does not let this user act for the user of HADOOP_PROXY_USER: its administrator allows this by "
        "hadoop.proxyuser.USER.hosts and .groups",
    ),
    (
        "InvalidToken",
        "the name node does not accept the delegation token, which has expired or was cancelled: get a new one, or "
        "unset HADOOP_TOKEN_FILE_LOCATION and run kinit",
    ),
    ("GSSAPI", f"{_NEEDS_KERBEROS}: run kinit, or set security.kerberos.login.principal and .keytab"),
)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HdfsFileIO:
    """`FileIO` for paths below `root`: `hdfs://host:8020`, `hdfs://nameservice`, or `hdfs://` for fs.defaultFS."""

    root: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    metrics: Metrics = field(default=PROCESS, repr=False, compare=False)

    @property
    def atomic_create(self) -> bool:
        return True

    @property
    def requests_at_once(self) -> int:
        return AT_ONCE

    @property
    def is_near(self) -> bool:
        return False

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        with self._errors("read", path):
            reader = self._call(lambda client: client.read(self._bare(path)))
            if len(reader) > most:
                raise too_large(path, most)
            return bytes(reader.read())

    def read_tagged(self, path: str) -> tuple[bytes, str | None]:
        return self.read_bytes(path), None

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        with self._errors("read", path):
            reader = self._call(lambda client: client.read(self._bare(path)))
        return PythonFile(_Input(self, path, reader), mode="r")

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return read_each_range(self, path, ranges)

    def open_output(self, path: str) -> NativeFile:
        with self._errors("create", path):
            self._make_folder(self._bare(path.rpartition("/")[0]))
            return PythonFile(_Output(self, path, self._new_file(path)), mode="w")

    def write_bytes(self, path: str, data: bytes) -> None:
        with self._errors("write", path):
            self._write(path, data)

    def replace_file(self, path: str, data: bytes) -> None:
        temporary = _beside(path)
        with self._errors("replace", path), on_failure(lambda: self._discard(temporary)):
            self._write(temporary, data)
            self._call(lambda client: client.rename(self._bare(temporary), self._bare(path), True))

    def replace_tagged(self, path: str, data: bytes, tag: str | None) -> bool:
        self.replace_file(path, data)
        return True

    def create_exclusive(self, path: str, data: bytes) -> bool:
        temporary = _beside(path)
        with self._errors("create", path), on_failure(lambda: self._discard(temporary)):
            self._write(temporary, data)
            try:
                self._call(lambda client: client.rename(self._bare(temporary), self._bare(path), False))
            except (FileExistsError, FileNotFoundError) as error:
                if not self.exists(temporary):  # the answer to an earlier request was lost
                    raise StorageError(
                        f"It is unknown whether this call created {path}: the storage refused the rename, but the "
                        "temporary file is gone. Read the file to see which writer created it."
                    ) from error
                self._discard(temporary)
                if isinstance(error, FileNotFoundError):
                    raise
                return False
            return True

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return nullcontext(False)

    def exists(self, path: str) -> bool:
        with self._errors("look up", path):
            return self._info(path) is not None

    def status(self, path: str) -> FileStatus:
        with self._errors("look up", path):
            found = self._info(path)
            if found is None:
                raise FileNotFoundError(path)
            return _status(path, found)

    def list(self, path: str) -> Iterator[FileStatus]:
        found: Sequence[Any] = ()
        bare = self._bare(path)
        with suppress(FileNotFoundError), self._errors("list", path):
            try:
                found = self._call(lambda client: list(client.list_status(bare)))
            except RuntimeError as error:
                if _understood(error)[0] != errno.ENOTDIR:  # a file above has no children
                    raise
        return iter([_status(f"{path}/{_name(entry)}", entry) for entry in found if entry.path.rstrip("/") != bare])

    def files_below(self, path: str) -> builtins.list[str] | None:
        return None

    def make_dirs(self, path: str) -> None:
        with self._errors("create folder", path):
            self._make_folder(self._bare(path))

    def delete(self, path: str) -> None:
        with self._errors("delete", path):
            found = self._info(path)
            if found is None:
                return
            if found.isdir:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            self._call(lambda client: client.delete(self._bare(path), False))

    def delete_below(self, root: str, path: str) -> None:
        self.delete(path)

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        return delete_side_by_side(self, root, paths)

    def delete_dir_below(self, root: str, path: str) -> None:
        self.delete_dir(path)

    def delete_dir(self, path: str) -> None:
        with self._errors("delete folder", path):
            self._call(lambda client: client.delete(self._bare(path), True))

    def delete_empty_dir_below(self, root: str, path: str) -> bool:
        with self._errors("delete folder", path):
            found = self._info(path)
            if found is None or not found.isdir:
                return False
            try:
                return bool(self._call(lambda client: client.delete(self._bare(path), False)))
            except FileNotFoundError:
                return False
            except RuntimeError as error:
                if "PathIsNotEmptyDirectoryException" not in str(error):
                    raise
                return False

    def rename_dir(self, source: str, target: str) -> None:
        with self._errors("rename", target, source):
            if self._info(source) is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
            self._make_folder(self._bare(target).rpartition("/")[0] or "/")
            try:
                self._call(lambda client: client.rename(self._bare(source), self._bare(target), False))
            except FileExistsError:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None

    def move_file(self, source: str, target: str) -> None:
        with self._errors("rename", target, source):
            self._call(lambda client: client.rename(self._bare(source), self._bare(target), True))

    def copy_file(self, source: str, target: str) -> None:
        with self.open_input(source) as reader, self.open_output(target) as writer:
            while chunk := reader.read(_CHUNK):
                writer.write(chunk)

    def sync(self, path: str) -> None:
        """Do nothing: a closed file is on as many data nodes as the cluster requires."""

    def _info(self, path: str) -> Any | None:
        try:
            return self._call(lambda client: client.get_file_info(self._bare(path)))
        except FileNotFoundError:
            return None

    def _write(self, path: str, data: bytes) -> None:
        writer = self._new_file(path)
        writer.write(data)
        writer.close()

    def _new_file(self, path: str) -> Any:
        options = _native().WriteOptions(overwrite=True, create_parent=True, **file_settings(self.options))
        return self._call(lambda client: client.create(self._bare(path), options))

    def _make_folder(self, bare: str) -> None:
        mask = umask(self.options)
        permission = {} if mask is None else {"permission": 0o777 & ~mask}
        self._call(lambda client: client.mkdirs(bare, create_parent=True, **permission))

    def _discard(self, temporary: str) -> None:
        with suppress(Exception):  # a file that remains is harmless, and the search for orphans recognises its name
            self._call(lambda client: client.delete(self._bare(temporary), False))

    def _call(self, act: Callable[[Any], T]) -> T:
        """Make one call to the name node. Raises `TimeoutError` if it does not answer in time."""
        client = _client(os.getpid(), self.root, tuple(sorted(self.options.items())))
        return _within(_PATIENCE, lambda: act(client))

    def _bare(self, path: str) -> str:
        return path.removeprefix(self.root).rstrip("/") or "/"

    @contextmanager
    def _errors(self, action: str, path: str, source: str | None = None) -> Iterator[None]:
        """Count the block as a call of the storage. Errors name `path`, and the file to rename (`source`)."""
        explained = self._explained(action if source is None else f"{action} {source} to", path)
        with explained, counted_call(self.metrics, "hdfs", action):
            yield

    @contextmanager
    def _explained(self, action: str, path: str) -> Iterator[None]:
        try:
            yield
        except PaimonError:
            raise
        except FileNotFoundError as error:
            if "Path is not a file" in str(error):
                raise storage_error(action, path, os.strerror(errno.EISDIR), errno.EISDIR) from None
            missing = error.filename or path
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), missing) from error
        except FileExistsError as error:
            if error.filename:
                raise
            raise storage_error(action, path, _first_line(str(error)), errno.EEXIST) from error
        except Exception as error:  # the name node's answers are raised as RuntimeError
            code, cause = _understood(error)
            advice = ""
            if cause.startswith(_NEEDS_KERBEROS):
                advice = token_advice(self.options, os.environ)
            elif "RPC listener disconnected" in cause:
                advice = proxy_advice(self.options, os.environ)
            raise storage_error(action, path, cause + advice, code) from error


class _Input(io.RawIOBase):
    """A data file that is open for reading."""

    def __init__(self, storage: HdfsFileIO, path: str, reader: Any) -> None:
        self._storage, self._path, self._reader = storage, path, reader

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        with self._storage._errors("read", self._path):
            left = max(len(self._reader) - self._reader.tell(), 0)
            wanted = left if size is None or size < 0 else min(size, left)
            return bytes(self._reader.read(wanted)) if wanted else b""

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._reader.tell(), os.SEEK_END: len(self._reader)}[whence]
        if not 0 <= start + offset <= len(self._reader):  # otherwise the library would end the process
            raise OSError(errno.EINVAL, f"{self._path} has {len(self._reader)} bytes, not {start + offset}")
        self._reader.seek(start + offset)
        return int(start + offset)

    def tell(self) -> int:
        return int(self._reader.tell())

    def size(self) -> int:
        return len(self._reader)


class _Output(io.RawIOBase):
    """A data file that is open for writing."""

    def __init__(self, storage: HdfsFileIO, path: str, writer: Any) -> None:
        self._storage, self._path, self._writer, self._size = storage, path, writer, 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        with self._storage._explained("write", self._path):
            written = memoryview(data).nbytes
            self._writer.write(data)
            self._size += written
            return written

    def tell(self) -> int:
        return self._size

    def close(self) -> None:
        if not self.closed:
            super().close()
            with self._storage._explained("write", self._path):
                self._writer.close()


@lru_cache(maxsize=64)
def _client(process: int, root: str, options: tuple[tuple[str, str], ...]) -> Any:
    """Return a client of this process. A forked child must not share it. Raises `TimeoutError`, `OSError`."""
    given = dict(options)
    folder, principal, keytab = (given.pop(key, None) for key in (CONF_DIR, PRINCIPAL, KEYTAB))
    for key in (REPLICATION, BLOCK_SIZE, UMASK):  # settings of each new file
        given.pop(key, None)
    if folder and not os.path.isdir(folder):  # a folder of the driver, which has passed its settings on
        folder = None
    kerberos = {"kerberos_principal": principal, "kerberos_keytab": keytab} if principal or keytab else {}
    location = authority_for(root, dict(options), os.environ)
    authority = location if location.partition("://")[2] else None
    client = _native().Client(authority, {**_DEFAULTS, **given}, folder, **kerberos)
    with suppress(FileNotFoundError):
        _within(_FIRST_PATIENCE, lambda: client.get_file_info("/"))
    return client


def _native() -> Any:
    """Return the library. Raises `UnsupportedFeatureError` if it is not installed."""
    return import_optional("hdfs_native", "Storage hdfs://", "hdfs")


def _within(seconds: float, act: Callable[[], T]) -> T:
    """Return the result of a call.

    Raises `TimeoutError` if it takes more than `seconds`, and the errors of the call.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(act())
        except BaseException as error:  # panics of the library are not subclasses of `Exception`
            future.set_exception(error if isinstance(error, Exception) else OSError(_first_line(str(error))))

    threading.Thread(target=run, name="hdfs call", daemon=True).start()
    try:
        return future.result(seconds)
    except TimeoutError:
        if future.done():
            raise
        raise TimeoutError(f"the name node did not answer within {seconds:g} s") from None


def _understood(error: Exception) -> tuple[int | None, str]:
    """Return the operating system's code for an error of the library, or None, and the cause in words."""
    text = str(error)
    remote = _REMOTE.search(text)
    shown = _first_line(remote["text"] if remote else text) or type(error).__name__
    name = remote["name"] if remote else ""
    code = next((code for part, code in _CODES if part in name or part in shown), getattr(error, "errno", None))
    if "is not a directory" in shown:
        return errno.ENOTDIR, shown
    cause = next((cause for part, cause in _CAUSES if part in text), None)
    return code, f"{cause} ({shown})" if cause else shown


def _first_line(text: str) -> str:
    return re.split(r"\n|\\n", text, maxsplit=1)[0].strip().removesuffix('")')


def _beside(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/{temporary_name(name)}"


def _name(entry: Any) -> str:
    return str(entry.path).rstrip("/").rpartition("/")[2]


def _status(path: str, found: Any) -> FileStatus:
    return FileStatus(path, 0 if found.isdir else int(found.length), bool(found.isdir), int(found.modification_time))
