"""File indexes: how fast they are made of a column, and how fast they answer.

    file_indexes.py [--rows 1000000]

Prints rows per second for making, questions per second for answering, and bytes per row, each type of index for numbers
with few and with many different values and for strings.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from paimon_core.expressions.predicate import Compare, In, Or, Predicate
from paimon_core.indexes.file_index import options as file_index_options
from paimon_core.indexes.file_index.registry import INDEX_TYPES, decode_index
from paimon_core.indexes.matching_rows import IndexedColumn, matching_rows
from paimon_core.options import TableOptions
from paimon_core.spec.types import BIGINT, STRING, DataField, DataType
from paimon_core.write.indexes.file_index import FileIndexBuilder

_LEAST_SECONDS = 0.2


def columns(rows: int) -> dict[str, tuple[DataType, pa.Array]]:
    random = np.random.default_rng(0)
    few, many = random.integers(0, 100, rows), random.integers(0, rows, rows)
    return {
        "100 numbers": (BIGINT, pa.array(few)),
        "many numbers": (BIGINT, pa.array(many)),
        "many strings": (STRING, pa.array(many).cast(pa.string())),
    }


def per_second(work: Callable[[], object]) -> float:
    """How often it runs in a second of processor time."""
    start, count = time.process_time(), 0
    while time.process_time() - start < _LEAST_SECONDS:
        work()
        count += 1
    return count / (time.process_time() - start)


def questions(data_type: DataType, values: pa.Array) -> list[Predicate]:
    some = values[:4].to_pylist()
    asked: list[Predicate] = [Compare("c", "=", some[0]), In("c", tuple(some))]
    return [*asked, Or((asked[0], Compare("c", "<", some[1])))]


def measure(name: str, data_type: DataType, values: pa.Array, index_type: str) -> None:
    field = DataField(id=0, name="c", type=data_type)
    column = file_index_options.WantedIndex(field, None, index_type, TableOptions({}))
    table, made = pa.table({"c": values}), list[bytes]()

    def make() -> None:
        builder = FileIndexBuilder([column])
        builder.add(table)
        made[:] = [b for b in builder.bodies()["c"].values() if b is not None]

    rate, body = per_second(make) * len(values), made[0]

    def answer(predicate: Predicate) -> None:
        index = decode_index("benchmark", index_type, data_type, body, len(values))
        assert index is not None
        matching_rows(predicate, lambda _: IndexedColumn(data_type, [index]))

    answers = [per_second(lambda q=q: answer(q)) for q in questions(data_type, values)]  # type: ignore[misc]
    rates = "  ".join(f"{a:10,.0f}" for a in answers)
    print(f"{name:13} {index_type:13} {rate / 1e6:6.2f} M rows/s  {len(body) / len(values):6.2f} bytes/row  {rates}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    print(f"{'':47}{'':10}answers/s to   c = ?      IN (4)  = ? OR < ?")
    for name, (data_type, values) in columns(rows).items():
        for index_type, known in INDEX_TYPES.items():
            if known.admits(data_type):
                measure(name, data_type, values, index_type)


if __name__ == "__main__":
    main()
