"""MetadataCache: the decoded contents of immutable files by their paths, up to a limit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sized
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from paimon_core.lazy import ImportedOnCall, cached_property
from paimon_core.metrics import CACHE_READS, PROCESS, Metrics
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import Snapshot

if TYPE_CHECKING:
    from paimon_core.formats.parquet.shapes import Shapes
else:
    Shapes = ImportedOnCall("paimon_core.formats.parquet.shapes", "Shapes")

S = TypeVar("S", bound=Sized)
V = TypeVar("V")
CAPACITY = 200_000  # manifest entries, of 0.5 to 3 kB each
_OF_EACH = 32  # overhead of a value, in entries: a value of two entries takes 30 to 60 kB
_TABLES = 10_000  # with a remembered value
_FOOTERS = 100_000  # a footer takes half a kB


class TableValues(Generic[V]):
    """One small value per table or branch that a session remembers, by the folder. Safe for threads."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, V] = OrderedDict()
        self._lock = Lock()

    def get(self, root: str) -> V | None:
        with self._lock:
            return self._values.get(root)

    def put(self, root: str, value: V) -> None:
        with self._lock:
            self._values[root] = value
            self._values.move_to_end(root)
            if len(self._values) > _TABLES:
                self._values.popitem(last=False)


class MetadataCache:
    """A cache that drops the least recently used values first. Safe for threads.

    The weight of a value is its length plus `of_each`. Pickling makes the cache empty. `footers` is a separate cache
    for metadata of data files, which would otherwise displace all other values."""

    def __init__(self, capacity: int = CAPACITY, of_each: int = _OF_EACH, metrics: Metrics = PROCESS) -> None:
        self._metrics = metrics
        self._capacity, self._weight, self._of_each = capacity, 0, of_each
        self._values: OrderedDict[str, Sized] = OrderedDict()
        self._lock = Lock()

    @cached_property
    def footers(self) -> MetadataCache:
        """A separate cache for small values, by the paths of data files."""
        return MetadataCache(_FOOTERS, 1)

    @cached_property
    def shapes(self) -> Shapes:
        """The schemas of footers, which files share."""
        return Shapes()

    @cached_property
    def latest_numbers(self) -> TableValues[int]:
        """The latest version numbers that the session has seen. A search for the latest version begins there."""
        return TableValues()

    @cached_property
    def latest_snapshots(self) -> TableValues[Snapshot]:
        """The latest versions that the session has read. They may have been removed since."""
        return TableValues()

    @cached_property
    def read_versions(self) -> TableValues[tuple[TableSchema, Snapshot]]:
        """The versions that were planned or committed last, with the schema that the table had then."""
        return TableValues()

    @cached_property
    def earliest_numbers(self) -> TableValues[int]:
        """For each table with a hint at the earliest version, a number that the hint had at some time."""
        return TableValues()

    @cached_property
    def version_counts(self) -> TableValues[int]:
        """The number of versions in the last listing. Only tables on storages with ETags have one."""
        return TableValues()

    @cached_property
    def tagged_schemas(self) -> TableValues[int]:
        """The numbers of schemas that were read with an ETag. Only some storages return ETags."""
        return TableValues()

    @cached_property
    def listed_folders(self) -> TableValues[tuple[str, ...]]:
        """The folders in the last listing of each database that may be tables. They may have been deleted since."""
        return TableValues()

    @cached_property
    def tag_looks(self) -> TableValues[float]:
        """The times, by the monotonic clock, when a commit must look for expired tags again."""
        return TableValues()

    @cached_property
    def oldest_versions(self) -> TableValues[tuple[int, int]]:
        """For each table without expired versions when it was read: the earliest version, and the time of the next
        version in epoch milliseconds.
        """
        return TableValues()

    def __reduce__(self) -> tuple[type[MetadataCache], tuple[int, int]]:
        return MetadataCache, (self._capacity, self._of_each)

    def another(self, capacity: int) -> MetadataCache:
        """Return an empty cache of the same kind."""
        return MetadataCache(capacity)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, path: str, load: Callable[[], S]) -> S:
        """Return the content of the immutable file at `path`; `load` reads it if the cache does not have it."""
        with self._lock:
            found = self._values.get(path)
            if found is not None:
                self._values.move_to_end(path)
        self._metrics.add(CACHE_READS, result="miss" if found is None else "hit")
        if found is not None:
            return found  # type: ignore[return-value]
        value = load()
        with self._lock:
            if path not in self._values and len(value) <= self._capacity:
                self._values[path] = value
                self._weight += len(value) + self._of_each
            while self._weight > self._capacity:
                self._weight -= len(self._values.popitem(last=False)[1]) + self._of_each
        return value

    def find(self, path: str) -> Any:
        """Return the content of the immutable file at `path`, or None if the cache does not have it."""
        with self._lock:
            if path in self._values:
                self._values.move_to_end(path)
            return self._values.get(path)

    def forget(self, paths: Iterable[str]) -> None:
        """Forget the contents of deleted files."""
        with self._lock:
            for path in paths:
                if (value := self._values.pop(path, None)) is not None:
                    self._weight -= len(value) + self._of_each
