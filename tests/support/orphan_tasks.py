"""A search for orphans with the steps of its Spark tasks and joins, in this process."""

from __future__ import annotations

import pickle
from collections import Counter

from paimon_core.maintenance.orphans.job import FOLDER, SOURCE, OrphanSearch


class Lost:
    """Files that were found and that no version needs, with their bytes."""

    def __init__(self, search: OrphanSearch, *, travels: bool = True) -> None:
        self.search: OrphanSearch = pickle.loads(pickle.dumps(search)) if travels else search  # noqa: S301  our own
        needed = Counter[tuple[int, str]]()
        for source in search.sources():
            for row in self.search.needed_by(SOURCE.decode(SOURCE.encode(source))).to_pylist():
                needed[row["chain"], row["name"]] += row["weight"]
        kept = {name for (_, name), weight in needed.items() if weight > 0}
        folders = (FOLDER.decode(FOLDER.encode(folder)) for folder in search.folders())
        found = [row for folder in folders for row in self.search.found_in(folder).to_pylist()]
        self.files = {f["path"]: f["size"] for f in found if f["path"].rpartition("/")[2] not in kept}
        self.count, self.size = len(self.files), sum(self.files.values())

    def delete(self) -> None:
        assert self.search.delete(list(self.files)) == self.count
