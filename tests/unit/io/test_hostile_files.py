"""What stands where a file belongs, and is none, or far too large: refused at once, in little memory."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest

import paimon_core
from paimon_core.errors import StorageError, UnfamiliarFormError
from paimon_core.io.file_io import MOST_HINT, MOST_TEXT
from paimon_core.io.local import LocalFileIO
from paimon_core.table import Table
from tests.support.bombs import with_little_memory
from tests.support.stored import create_table, insert, open_table, read

IO = LocalFileIO()
LISTS = ("list_consumers({}.store)", "read_tag({}.store, 'a')")


def insert_one(warehouse: Path) -> Table:
    """A table of one row."""
    table = create_table(str(warehouse))
    insert(table, [(1, "a")])
    return table


def stand_in(kind: str, path: Path) -> None:
    """Put something that is no regular file at a path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_no_regular_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    stand_in(kind, path)
    for read_it in (IO.read_bytes, IO.open_input):
        with pytest.raises(StorageError, match=f"Cannot (read|open) {path}"):
            read_it(str(path))


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_tables_with_a_pipe_or_a_device(kind: str, tmp_path: Path) -> None:
    root = Path(insert_one(tmp_path).store.root)
    for hint in ("LATEST", "EARLIEST"):
        stand_in(kind, root / "snapshot" / hint)
    assert read(open_table(str(tmp_path))) == [(1, "a")]
    for pattern in ("bucket-0/data-*", "manifest/manifest-????????-*", "snapshot/snapshot-1", "schema/schema-0"):
        (path,) = root.glob(pattern)
        stand_in(kind, path)
        with pytest.raises(StorageError, match=f"Cannot read {re.escape(str(path))}: it is a pipe, a socket or a dev"):
            read(open_table(str(tmp_path)))


def test_files_of_many_bytes(tmp_path: Path) -> None:
    """Twenty gigabytes each, of which the disk holds none: hints are passed over, the rest is refused."""
    root = Path(insert_one(tmp_path).store.root)
    for name in ("snapshot/LATEST", "snapshot/EARLIEST", "consumer/consumer-a", "tag/tag-a"):
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.truncate(path, 20 * 10**9)
    imports = (
        "from tests.support.stored import open_table, read\nfrom paimon_core.store.consumers import list_consumers\n"
        "from paimon_core.store.snapshots import earliest_snapshot\nfrom paimon_core.store.tags import read_tag"
    )
    table = f"open_table({str(tmp_path)!r})"
    acts = (f"read({table})", f"earliest_snapshot({table}.store).id", *(text.format(table) for text in LISTS))
    found = with_little_memory(imports, acts)
    assert [f.error.partition(":")[0] for f in found] == ["", "", "UnfamiliarFormError", "UnfamiliarFormError"]
    assert found[-1].megabytes < 500


def test_each_kind_of_file_has_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * (MOST_HINT + 1))
    assert len(IO.read_bytes(str(path))) == MOST_HINT + 1 < MOST_TEXT
    assert len(IO.read_bytes(str(path), MOST_HINT + 1)) == MOST_HINT + 1
    with pytest.raises(UnfamiliarFormError, match="more than the 1024 bytes"):
        IO.read_bytes(str(path), MOST_HINT)


def test_files_are_opened_by_the_door_alone() -> None:
    """A module that opens files by itself would wait for a pipe; the disk cache opens its own files without waiting."""
    package = Path(paimon_core.__file__).parent
    opening = re.compile(r"open_input_(?:file|stream)\(|[^_.\w]open\(.*[\"']rb?[\"']")
    found = {str(p.relative_to(package)) for p in package.rglob("*.py") if opening.search(p.read_text("utf-8"))}
    assert found <= {"io/local.py", "io/fsspec.py", "io/disk_cache.py"}
