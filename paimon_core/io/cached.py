"""A storage with a cache of its immutable files on the local disk.

Only files that can never get another content are cached: their names contain an UUID. Snapshots, schemas, hints,
tags and all other files are always read from the storage. A snapshot names every immutable file that a reader needs, so
the cache cannot hide that a table has changed.

An entry belongs to the location of the file and to all settings of the storage, its keys included, and to settings of
the environment that choose keys. So a catalog gets only what the same keys have read.
"""

from __future__ import annotations

import builtins
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyarrow import NativeFile

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.io.delegating import DelegatingFileIO
from paimon_core.io.disk_cache import DiskCache, check_private
from paimon_core.io.file_io import MOST_TEXT, FileIO, too_large
from paimon_core.io.objects.files import END, WHOLE, ObjectReader
from paimon_core.io.objects.store import ObjectStoreFileIO
from paimon_core.options.option import boolean, memory_size, names
from paimon_core.spec.paths import UUID

T = TypeVar("T")
ENABLED, FOLDER, MOST, KINDS = (f"local-cache.{name}" for name in ("enabled", "dir", "max-size", "whitelist"))
_USUAL_KINDS, _USUAL_MOST = "meta,global-index", "1 gb"
_LEAST = 2**20  # bytes
_CHOOSING = ("AWS_", "GOOGLE_", "AZURE_", "OSS_", "ALIBABA_CLOUD_")  # variables of the environment
_BUCKET = r"bucket-[^/]+"
_NAMES = {  # the last parts of paths, for each kind
    "meta": rf"/manifest/(?:manifest|manifest-list|index-manifest)-{UUID}-\d+|/statistics/stat-{UUID}-\d+",
    "global-index": rf"/index/[^/]*{UUID}[^/]*\.index",
    "bucket-index": rf"/index/index-{UUID}-\d+",
    "file-index": rf"/{_BUCKET}/[^/]*{UUID}[^/]*\.index",
    "data": rf"/{_BUCKET}/[^/]*{UUID}[^/]*\.(?:parquet|orc|avro|blob|vortex)",
}
_KINDS = {kind: re.compile(rf".*(?:{text})", re.DOTALL) for kind, text in _NAMES.items()}


@dataclass(frozen=True)
class CachedFileIO(DelegatingFileIO):
    """The storage `inner`, with a cache of its immutable files of some kinds."""

    inner: ObjectStoreFileIO
    cache: DiskCache
    kinds: frozenset[str]

    def _io(self) -> FileIO:
        return self.inner

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        if not self._keeps(path):
            return self.inner.read_bytes(path, most)
        key = self._key(path, "whole")
        content = self.cache.get(key)
        if content is None:
            content = self.inner.read_bytes(path, most)
            self.cache.put(key, content)
        if len(content) > most:
            raise too_large(path, most)
        return content

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        if size is None or not self._keeps(path):
            return self.inner.open_input(path, size)
        start = 0 if size <= WHOLE else size - END
        key = self._key(path, f"end {size}" if start else "whole")
        content = self.cache.get(key)
        if content is None or len(content) != size - start:
            file = self.inner.open_input(path, size)
            if file.size() != size:  # the reader finds the damage
                return file
            content = file.read_at(size - start, start)
            self.cache.put(key, content)
        if not start:
            return pa.BufferReader(content)
        return pa.PythonFile(ObjectReader(partial(self.read_ranges, path), size, (start, content)), mode="r")

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> builtins.list[bytes]:
        if not self._keeps(path):
            return self.inner.read_ranges(path, ranges)
        keys = [self._key(path, f"{offset} {length}") for offset, length in ranges]
        found = [self.cache.get(key) for key in keys]
        missing = [i for i, content in enumerate(found) if content is None]
        if missing:
            for i, content in zip(missing, self.inner.read_ranges(path, [ranges[i] for i in missing]), strict=True):
                found[i] = content
                self.cache.put(keys[i], content)
        return [content for content in found if content is not None]

    def _keeps(self, path: str) -> bool:
        return any(_KINDS[kind].fullmatch(path) for kind in self.kinds)

    def _key(self, path: str, part: str) -> tuple[str, ...]:
        settings = (f"{name}={value}" for name, value in sorted(self.inner.options.items()))
        chosen = (f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(_CHOOSING))
        return (self.inner.scheme, *settings, *chosen, path, part)


def with_cache(io: ObjectStoreFileIO, options: Mapping[str, str]) -> FileIO:
    """Return a storage with the cache that the options of its catalog request, or the storage itself.

    Raises `InvalidOptionError`.
    """
    if not _parsed(options, ENABLED, "false", boolean):
        return io
    kinds = frozenset(_parsed(options, KINDS, _USUAL_KINDS, names))
    if unknown := kinds - _KINDS.keys():
        raise InvalidOptionError(
            f"Option '{KINDS}' cannot contain {min(unknown)!r}: it is a list of {', '.join(_KINDS)}."
        )
    most = _parsed(options, MOST, _USUAL_MOST, memory_size)
    if most < _LEAST:
        raise InvalidOptionError(f"Option '{MOST}' cannot be {options[MOST]!r}: it must be at least '1 mb'.")
    folder = options.get(FOLDER, "").strip() or _usual_folder()
    if not os.path.isabs(folder):
        raise InvalidOptionError(
            f"Option '{FOLDER}' cannot be {folder!r}: it must be an absolute path of this machine."
        )
    check_private(folder)
    return CachedFileIO(io, DiskCache(folder, most), kinds)


def _parsed(options: Mapping[str, str], key: str, usual: str, parse: Callable[[str], T]) -> T:
    text = options.get(key, "").strip() or usual
    try:
        return parse(text)
    except ValueError as error:
        raise InvalidOptionError(f"Option '{key}' cannot be {text!r}: it must be {error}.") from None


def _usual_folder() -> str:
    place = os.environ.get("XDG_CACHE_HOME", "")
    return str((Path(place) if os.path.isabs(place) else Path.home() / ".cache") / "paimon-sql" / "files")
