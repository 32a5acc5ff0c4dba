"""Records of the last commit of each stream of writes: `stream/stream-USER/commit-N`.

    {"made": true or false, "searched": S}

N is a commit identifier; for a streaming query, its epoch. Made: the commit is one of the snapshots up to S, or there
was nothing to commit. Not made: none of these snapshots is this commit. Other engines do not use such files.
`commit/once.py` explains their purpose.

The file with the highest number of a user is valid, and a commit deletes the files below its own. A process that is
late can only create a lower one again, which is not valid.

An empty file shows only that the commit was begun, as its name does. It counts as `{"made": false, "searched": 0}`,
which is always true. Earlier versions left such files on HDFS and SFTP if they were killed while they wrote a record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidNameError, UnfamiliarFormError
from paimon_core.io.file_io import FileStatus
from paimon_core.spec.json_object import decode_json_object, member
from paimon_core.spec.paths import (
    MAX_NAME_BYTES,
    STREAM_PREFIX,
    escape_path_name,
    parse_stream_commit,
    unescape_path_name,
)
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class StreamCommit:
    """The last commit that a user began: whether it is `made`, and the last snapshot that was `searched` for it."""

    identifier: int
    made: bool
    searched: int


def encode_stream_commit(commit: StreamCommit) -> bytes:
    """Return the file's bytes: indented JSON. The identifier is in the file's name."""
    return json.dumps({"made": commit.made, "searched": commit.searched}, indent=2).encode()


def decode_stream_commit(path: str, identifier: int, data: bytes) -> StreamCommit:
    """Decode a record. Raises `CorruptFileError` naming `path`."""
    try:
        node = decode_json_object(path, data)
        made, searched = member(node, "made", bool), member(node, "searched", int)
    except TypeError as e:
        raise UnfamiliarFormError(
            path,
            f"it is not a record of a stream: {e}",
            f"check whether the table has the rows of epoch {identifier}, then delete the file, and start the stream "
            "with 'write.stream.unknown-epoch' = 'skip' if it has them, or 'commit' if it does not",
        ) from e
    return StreamCommit(identifier, made, searched)


def check_stream_user(user: str) -> None:
    """Raise `InvalidNameError` if a commit user is not a valid name of a record."""
    if not user.strip() or not user.isprintable() or len(escape_path_name(user).encode()) > MAX_NAME_BYTES:
        raise InvalidNameError(
            f"The commit user {user[:80]!r} of a stream is not valid: it must have 1 to {MAX_NAME_BYTES} bytes and no "
            "control characters. See 'write.stream.commit-user' and 'commit.user-prefix'."
        )


def last_stream_commit(store: TableStore, user: str) -> StreamCommit | None:
    """Return the last commit that a user began, or None if the user has no record. Raises `CorruptFileError`."""
    for _ in range(2):
        numbers = _numbers(store, user)
        if not numbers:
            return None
        with suppress(FileNotFoundError):  # another process of the stream has made a later commit
            return _read(store, user, numbers[-1])
    return _read(store, user, _numbers(store, user)[-1])


def write_stream_commit(store: TableStore, user: str, commit: StreamCommit) -> None:
    """Write the record of the last commit of a user."""
    store.io.replace_file(store.paths.stream_commit(user, commit.identifier), encode_stream_commit(commit))


def delete_earlier_commits(store: TableStore, user: str, identifier: int) -> None:
    """Delete the records of a user's commits before `identifier`."""
    for number in _numbers(store, user):
        if number < identifier:
            store.delete(store.paths.stream_commit(user, number))


def stream_users(store: TableStore) -> list[str]:
    """Return the users with records."""
    folders = [f.name for f in store.io.list(store.paths.stream_dir) if f.is_dir and f.name.startswith(STREAM_PREFIX)]
    return sorted(unescape_path_name(name.removeprefix(STREAM_PREFIX)) for name in folders)


def stream_files(store: TableStore) -> Iterator[FileStatus]:
    """Yield the files of all users."""
    for user in stream_users(store):
        yield from (f for f in store.io.list(store.paths.stream(user)) if parse_stream_commit(f.name) is not None)


def forget_streams(store: TableStore, older_than: int) -> None:
    """Delete the records of streams that have not committed since `older_than` (epoch milliseconds)."""
    for file in list(stream_files(store)):
        if file.modified < older_than:
            store.delete(file.path)


def _numbers(store: TableStore, user: str) -> list[int]:
    found = (parse_stream_commit(f.name) for f in store.io.list(store.paths.stream(user)) if not f.is_dir)
    return sorted(n for n in found if n is not None)


def _read(store: TableStore, user: str, number: int) -> StreamCommit:
    path = store.paths.stream_commit(user, number)
    data = store.io.read_bytes(path)
    if not data:
        return StreamCommit(number, made=False, searched=0)
    commit = decode_stream_commit(path, number, data)
    if commit.searched < 0:
        raise UnfamiliarFormError(path, f"it has a negative snapshot number, {commit.searched}", "delete it")
    return commit
