"""Insert rows one by one in Python without Spark, and print the number of each that is acknowledged."""

from __future__ import annotations

import sys

import paimon_sql
from paimon_core.errors import PaimonError


def main(warehouse: str, name: str, first: int, count: int) -> None:
    """Insert the rows `first` to `first + count - 1`, each by a commit."""
    table = paimon_sql.open_catalog(warehouse).table(name)
    write = table.upsert if table.primary_key else table.append
    for number in range(first, first + count):
        try:
            write([{"id": number, "w": "python"}])
        except PaimonError as e:
            print(f"{number}: {e}", file=sys.stderr)
        else:
            print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
