"""The remote storage that suites run on, if there is one: `python -m tests.storages SERVER COMMAND …` starts a server,
and names it to the command in the environment.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paimon_core.io.load import load_file_io
from paimon_core.io.side_by_side import side_by_side

VARIABLE = "PAIMON_SQL_TEST_STORAGE"


@dataclass(frozen=True, slots=True)
class RemoteStorage:
    """A location, and the options of catalogs there."""

    root: str
    options: Mapping[str, str] = field(repr=False)

    @classmethod
    def given(cls) -> RemoteStorage | None:
        """Return the storage that the environment names; None for the local disk."""
        text = os.environ.get(VARIABLE)
        return None if not text else cls(**json.loads(text))

    @property
    def text(self) -> str:
        """The value of the environment's variable."""
        return json.dumps({"root": self.root, "options": dict(self.options)})

    def warehouse(self) -> dict[str, str]:
        """Return the options of a catalog on a new, empty folder."""
        return {"warehouse": f"{self.root}/{uuid.uuid4().hex[:12]}", **self.options}


def put_folder(source: Path, options: Mapping[str, str]) -> None:
    """Copy a local folder to the warehouse of a catalog, with all files in it."""
    target = options["warehouse"]
    io = load_file_io(target, options)
    files = [path for path in source.rglob("*") if path.is_file()]
    side_by_side(io, lambda path: io.write_bytes(f"{target}/{path.relative_to(source)}", path.read_bytes()), files)
