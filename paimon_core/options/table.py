"""The registry of the table options that this version supports, ordered by key. Each theme has a module with one entry
per option. Source: Paimon's configuration page and `CoreOptions`. `options.support` lists options that only other
engines use. Options of file formats (`parquet.*`, `csv.*` …) and of file indexes are declared beside the code for
these.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from paimon_core.options import compaction, files, indexes, layout, merging, reading, upkeep, writing
from paimon_core.options.iceberg import ICEBERG_OPTIONS
from paimon_core.options.option import NO_NAMES, Change, Option, boolean, names

_UNREAD: tuple[Option[Any], ...] = (  # options that CREATE TABLE reads by their keys, or only checks
    Option("partition", names, NO_NAMES, "Partition columns, at CREATE TABLE.", change=Change.NEVER),
    Option("path", str, "", "Folder of the table.", change=Change.NEVER),
    Option("primary-key.nullable", boolean, False, "Primary keys may be NULL.", change=Change.EMPTY),
    Option("type", str, "table", "Kind of table.", change=Change.NEVER),
)
_THEMES = (layout, merging, files, indexes, writing, reading, compaction, upkeep)


def _options(theme: ModuleType) -> Iterator[Option[Any]]:
    return (value for value in vars(theme).values() if isinstance(value, Option))


_listed = (*_UNREAD, *(option for theme in _THEMES for option in _options(theme)))
TABLE_OPTIONS = (*sorted(_listed, key=lambda option: option.key), *ICEBERG_OPTIONS)
