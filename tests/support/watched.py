"""A warehouse with precious files around it, and a watch over who reaches for them.

Three witnesses that know nothing of each other: the paths that a `FileIO` is handed, the audit events of Python for
files, folders, sockets and processes, and what lies around the warehouse before and after.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from paimon_core.io.file_io import FileIO
from paimon_core.io.local import LocalFileIO
from tests.support.faulty_io import FaultyIO

_CHANGING = {"os.remove": 1, "os.rename": 2, "os.rmdir": 1, "os.mkdir": 1, "os.link": 2, "os.symlink": 2}
_REACHING = {"open": 1, "os.listdir": 1, "os.scandir": 1, "shutil.rmtree": 1, "os.truncate": 1, "os.chmod": 1}
_PATHS = _CHANGING | _REACHING  # event -> how many of its arguments, from the first on, are paths
_NEVER = ("socket.connect", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "pickle.find_class")
_seen: list[tuple[int | None, str, Any]] | None = None  # the thread, the event, its arguments


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is not None and (event in _PATHS or event in _NEVER):
        _seen.append((threading.get_native_id(), event, arguments))


sys.addaudithook(_hook)  # for good: Python cannot take one away


class Watch:
    """The folder `root`, its warehouse in the middle, and what must not be reached: everything else below `root`."""

    def __init__(self, root: Path):
        self.root, self.warehouse = root, root / "a" / "b" / "warehouse"
        self.warehouse.mkdir(parents=True)
        for folder in (root, root / "a", root / "a" / "b", root / "outside"):
            for name in ("x", "passwd", "snapshot-1", "LATEST", "schema/schema-0", "t/schema/schema-0"):
                precious = folder / name
                precious.parent.mkdir(parents=True, exist_ok=True)
                precious.write_text(f"precious {precious}")
        self.before = self._around()
        self.handed: list[str] = []

    def io(self, inner: FileIO | None = None) -> WatchedIO:
        return WatchedIO(inner or LocalFileIO(), self)

    def escaped(self) -> list[str]:
        """What was reached, or has changed, outside of the warehouse."""
        around = self._around()
        changed = [f"changed {p}" for p in {*around, *self.before} if around.get(p) != self.before.get(p)]
        return sorted({*changed, *(f"handed {p!r}" for p in self.handed if not self._is_inside(p))})

    @contextmanager
    def audited(self) -> Iterator[list[str]]:
        """What Python reports of the block that no catalog has to do: paths below `root` and outside of the warehouse,
        connections, processes. Complete when the block ends.

        Threads that run already are not asked: they are not the block's (py4j has one that connects to the JVM whenever
        objects of other tests are collected).
        """
        global _seen
        found: list[str] = []
        others = {t.native_id for t in threading.enumerate() if t is not threading.current_thread()}
        _seen = events = []
        try:
            yield found
        finally:
            _seen = None
            for event, arguments in (e[1:] for e in events if e[0] not in others):
                paths = [os.fsdecode(p) for p in arguments[: _PATHS.get(event, 0)] if isinstance(p, (str, bytes))]
                reached = [
                    p for p in paths if os.path.isabs(p) and not self._is_inside(p) and not self._is_of_python(p, event)
                ]
                found += [f"{event} {p!r}" for p in reached]
                found += [f"{event} {arguments!r}"] if event in _NEVER else []

    def _is_inside(self, path: str) -> bool:
        return f"{os.path.normpath(path)}/".startswith(f"{self.warehouse}/")

    def _is_of_python(self, path: str, event: str) -> bool:
        """Modules that are imported, time zones, temporary files: anything else than the folder that is watched."""
        return event not in _CHANGING and not f"{os.path.normpath(path)}/".startswith(f"{self.root}/")

    def _around(self) -> dict[str, bytes]:
        """What lies below `root`, without the warehouse."""
        found: dict[str, bytes] = {}
        for folder, folders, files in os.walk(self.root):
            if Path(folder) == self.warehouse.parent:
                folders.remove(self.warehouse.name)
            found |= {f"{folder}/{name}": Path(folder, name).read_bytes() for name in files}
            found |= {f"{folder}/{name}": b"" for name in folders}
        return found


class WatchedIO(FaultyIO):
    """A `FileIO` that tells a watch which paths it is handed; none of its calls fails by itself."""

    def __init__(self, inner: FileIO, watch: Watch):
        super().__init__(inner)
        self.watch = watch

    def call(self, path: str, act: Callable[[], Any], *more: Any, **how: Any) -> Any:
        self.watch.handed.append(path)
        return act()

    def rename_dir(self, source: str, target: str) -> None:
        self.watch.handed.append(target)
        super().rename_dir(source, target)

    def move_file(self, source: str, target: str) -> None:
        self.watch.handed.append(target)
        super().move_file(source, target)

    def copy_file(self, source: str, target: str) -> None:
        self.watch.handed.append(target)
        super().copy_file(source, target)

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        self.watch.handed.append(path)
        return super().writer_slot(path)

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        self.watch.handed += paths
        return self.inner.delete_many_below(root, paths)
