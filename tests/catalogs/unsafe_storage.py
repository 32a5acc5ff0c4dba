"""A catalog on a storage without atomic create, where its locks alone keep two commits apart; and a process that writes
there.

python -m tests.catalogs.unsafe_storage OPTIONS FIRST COMMITS     commits rows FIRST, FIRST + 1 …, one each
python -m tests.catalogs.unsafe_storage OPTIONS FIRST hold        takes the lock, says "held", waits for a line, commits
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from paimon_core.errors import UnsafeStorageError
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.load import load_catalog
from tests.support.stored import insert

T = Identifier("db", "t")


class WithoutAtomicCreate(LocalFileIO):
    """A storage where two can write one file at the same time, unless they hold a lock."""

    @property
    def atomic_create(self) -> bool:
        return False

    def create_exclusive(self, path: str, data: bytes) -> bool:
        raise UnsafeStorageError(path)


def on_unsafe_storage(options: Mapping[str, str]) -> Any:
    """The catalog of some options, whose commits take locks."""
    catalog: Any = load_catalog({**options, "lock.enabled": "true"})
    return replace(catalog, io=WithoutAtomicCreate())


def main() -> None:
    options, first, what = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    catalog = on_unsafe_storage(options)
    if what == "hold":
        table = catalog.load_table(T)
        with catalog._locks.lock(T):
            print("held", flush=True)
            sys.stdin.readline()
            insert(table, [(first, "late")])
        return
    for k in range(int(what)):
        insert(catalog.load_table(T), [(first + k, "x")], user=f"u{first}")


if __name__ == "__main__":
    main()
