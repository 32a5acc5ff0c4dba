"""Insert rows one by one with pypaimon, and print the number of each that is acknowledged."""

from __future__ import annotations

import sys

import pyarrow as pa
from pypaimon import CatalogFactory


def main(warehouse: str, name: str, first: int, count: int) -> None:
    """Insert the rows `first` to `first + count - 1`, each by a commit."""
    table = CatalogFactory.create({"warehouse": warehouse}).get_table(name)
    keyed = bool(table.primary_keys)
    schema = pa.schema([pa.field("id", pa.int64(), nullable=not keyed), ("w", pa.string())])
    for number in range(first, first + count):
        builder = table.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        try:
            write.write_arrow(pa.table([pa.array([number], pa.int64()), pa.array(["python"])], schema=schema))
            commit.commit(write.prepare_commit())
        except Exception as e:  # of any kind: a commit that failed
            print(f"{number}: {e}", file=sys.stderr)
        else:
            print(number, flush=True)
        write.close()
        commit.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
