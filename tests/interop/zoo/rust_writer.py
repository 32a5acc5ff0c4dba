"""Insert rows one by one with pypaimon-rust, and print the number of each that is acknowledged."""

from __future__ import annotations

import sys

from pypaimon_rust.datafusion import SQLContext


def main(warehouse: str, table: str, first: int, count: int) -> None:
    """Insert the rows `first` to `first + count - 1`, each by a commit."""
    context = SQLContext()
    context.register_catalog("paimon", {"warehouse": warehouse})
    for number in range(first, first + count):
        try:
            context.sql(f"INSERT INTO paimon.{table} VALUES ({number}, 'rust')")
        except Exception as e:  # of any kind: a commit that failed
            print(f"{number}: {e}", file=sys.stderr)
        else:
            print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
