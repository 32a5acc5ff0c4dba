"""A process that commits to the table `default.t` of a catalog, one row with each commit, and prints each outcome.

python -m tests.storages.writers OPTIONS FIRST COMMITS
"""

from __future__ import annotations

import json
import sys

from paimon_core.errors import CommitUnknownError, PaimonError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.load import load_catalog
from tests.support.stored import insert

T = Identifier("default", "t")


def main(options: str, first: str, commits: str) -> None:
    table = load_catalog(json.loads(options)).load_table(T)
    for k in range(int(first), int(first) + int(commits)):
        try:
            insert(table, [(k, "v")])
            outcome, error = "acknowledged", ""
        except CommitUnknownError as unknown:
            outcome, error = "unknown", str(unknown)
        except PaimonError as refused:
            outcome, error = "failed", str(refused)
        sys.stdout.write(json.dumps([outcome, k, error]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
