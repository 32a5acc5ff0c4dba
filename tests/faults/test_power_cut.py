"""The power goes at each step of a statement that changes the disk: the table reads as before or as after, and an
acknowledged statement stays.

Of what was not synced, a disk keeps what it likes. Two of them are tried: one that keeps nothing, and one that keeps
the names and loses the bytes, as file systems do that write names to their journal first.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from paimon_core.spec.snapshot import Snapshot
from paimon_core.table import Table
from tests.support.stored import compact, create_table, insert, open_table, read

Names = dict[str, int]  # what is in a folder, by inode

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="reads open files from /proc")


@dataclass
class Disk:
    """What would be left of the files below a folder if the power went now."""

    root: Path
    names: dict[int, Names] = field(default_factory=dict)  # of synced folders
    content: dict[int, bytes] = field(default_factory=dict)  # of synced files

    def __post_init__(self) -> None:
        """All that is there at first is synced."""
        for path in (self.root, *self.root.rglob("*")):
            self.sync(path)

    def sync(self, path: Path) -> None:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            self.names[found.st_ino] = _names(path)
        else:
            self.content[found.st_ino] = path.read_bytes()

    def synced_only(self, target: Path) -> None:
        """Nothing else is left."""
        self._copy(self.root.stat().st_ino, target)

    def _copy(self, folder: int, target: Path) -> None:
        target.mkdir()
        for name, inode in self.names.get(folder, {}).items():
            if inode in self.names:
                self._copy(inode, target / name)
            else:
                (target / name).write_bytes(self.content.get(inode, b""))

    def all_names(self, target: Path) -> None:
        """Files that were not synced are empty."""
        for path in (self.root, *self.root.rglob("*")):
            copy = target / path.relative_to(self.root)
            if path.is_dir():
                copy.mkdir()
            else:
                copy.write_bytes(self.content.get(path.stat().st_ino, b""))


def _names(folder: Path) -> Names:
    return {path.name: path.lstat().st_ino for path in folder.iterdir()}


LEFT: dict[str, Callable[[Disk, Path], None]] = {"synced only": Disk.synced_only, "all names": Disk.all_names}
Statement = Callable[[Table], Snapshot | None]
STATEMENTS: dict[str, tuple[dict[str, str], Statement]] = {
    "append": ({}, lambda table: insert(table, [(2, "new"), (3, "new")])),
    "upsert": ({"primary_key": "k", "bucket": "2"}, lambda table: insert(table, [(2, "new"), (3, "new")])),
    "assign buckets": ({"primary_key": "k"}, lambda table: insert(table, [(2, "new"), (3, "new")])),
    "compact": ({"primary_key": "k", "bucket": "1"}, compact),
}


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_power_goes_at_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, left: str
) -> None:
    options, act = STATEMENTS[statement]
    warehouse = tmp_path / "warehouse"
    table = create_table(str(warehouse), **options)
    insert(table, [(1, "old")])
    insert(table, [(2, "old")])
    before, first = read(table), table.latest_snapshot()
    disk, seen = Disk(warehouse), list[tuple[int, object]]()

    def look() -> None:
        """What a process finds that starts when the power is back."""
        copy = tmp_path / f"left-{len(seen)}"
        LEFT[left](disk, copy)
        found = open_table(str(copy))
        latest = found.latest_snapshot()
        seen.append((0 if latest is None else latest.id, read(found)))

    def watched(name: str) -> None:
        call = getattr(os, name)

        def watch(*arguments: object, **named: object) -> object:
            result = call(*arguments, **named)
            if name == "fsync":
                disk.sync(Path(os.readlink(f"/proc/self/fd/{arguments[0]}")))
            with monkeypatch.context() as unwatched:
                for other, original in originals.items():
                    unwatched.setattr(os, other, original)
                look()
            return result

        monkeypatch.setattr(os, name, watch)

    originals = {name: getattr(os, name) for name in ("fsync", "link", "replace", "mkdir", "unlink")}
    for name in originals:
        watched(name)
    made = act(open_table(str(warehouse)))
    monkeypatch.undo()
    look()

    assert first is not None and made is not None and made.id == first.id + 1
    after = read(open_table(str(warehouse)))
    states = [(first.id, before), (made.id, after)]
    assert all(state in states for state in seen)
    assert seen == sorted(seen, key=states.index), "an older version came back"
    assert seen[0] == states[0] and seen[-1] == states[1], "the acknowledged statement is not on the disk"
