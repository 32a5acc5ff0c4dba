"""The encodings of Parquet columns, chosen by the first rows of a file.

Columns with repeated values get a dictionary: each value once, and small numbers for the rows. In Parquet's second
version, integers with small differences (keys in order, sequence numbers, times) are DELTA_BINARY_PACKED.

A page of DELTA_BINARY_PACKED has its first value, then blocks of 128 differences. A block has its least difference,
and four miniblocks of 32. A miniblock stores each difference less the least, in as many bits as the widest of the 32
needs. So one large step in a column makes only 32 numbers wide, and the encoding pays if differences are similar, even
if values grow without end. `_is_narrow` checks the first rows: the range of differences must need far fewer bits
than the value. Such columns are decoded twice as fast as plain ones and are a fifth to a half smaller. With wide
differences, unpacking costs more than reading fewer bytes saves.

It is not the default: Paimon before 1.1 cannot read such columns, and Java's reader of 2.0 loses its position in them
when it skips rows, as it does with file indexes and limits.
Source: parquet-format, "Encodings"; Paimon's options `parquet.enable.dictionary` and `parquet.writer.version`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.arrow.leaves import leaves
from paimon_core.options import Option, TableOptions, boolean, one_of

_SAMPLE_ROWS = 20_000
_DICTIONARY = Option("parquet.enable.dictionary", boolean, True, "Columns with repeated values get a dictionary.")
_FIRST_VERSION = ("v1", "parquet_1_0")
WRITER_VERSION = Option(
    "parquet.writer.version", one_of(*_FIRST_VERSION, "v2", "parquet_2_0"), "v1", "v2 packs integers."
)
# The share of a value's bits. Above it, unpacking costs as much as reading fewer bytes saves.
_NARROW = 0.65


def column_encodings(rows: pa.Table, options: TableOptions) -> tuple[list[str], dict[str, str]]:
    """Return the columns that get a dictionary, and the encodings of other columns that are not plain.

    The choice depends on a file's first rows."""
    sample = rows.slice(0, _SAMPLE_ROWS).combine_chunks()
    repeating = [n for n in _allowed_dictionaries(sample.schema, options) if _repeats(sample.column(n))]
    if options[WRITER_VERSION] in _FIRST_VERSION:
        return repeating, {}
    others = [n for n in sample.column_names if n not in repeating]
    return repeating, {n: "DELTA_BINARY_PACKED" for n in others if _is_narrow(sample.column(n))}


def part_dictionaries(parts: pa.Schema, options: TableOptions) -> list[str]:
    """Return the paths below shredded columns that get a dictionary: names and keys repeat. If other values do not
    repeat, Parquet's writer stops using a dictionary by itself.
    """
    if not options[_DICTIONARY]:
        return []
    return [path for path, arrow in leaves(parts) if not pa.types.is_floating(arrow)]


def check_encodings(options: TableOptions) -> None:
    """Raise `InvalidOptionError` for values that do not parse."""
    _ = options[WRITER_VERSION], options[_DICTIONARY]


def _allowed_dictionaries(schema: pa.Schema, options: TableOptions) -> Iterator[str]:
    default = options[_DICTIONARY]
    flat = (f.name for f in schema if not pa.types.is_nested(f.type) and not pa.types.is_floating(f.type))
    return (n for n in flat if options[replace(_DICTIONARY, key=f"{_DICTIONARY.key}#{n}", default=default)])


def _repeats(values: pa.ChunkedArray) -> bool:
    """Return whether a dictionary pays: columns without one are read and written faster."""
    return int(pc.count_distinct(values).as_py()) <= len(values) // 2


def _is_narrow(values: pa.ChunkedArray) -> bool:
    """Return whether the differences between integers need far fewer bits than the integers."""
    if not (pa.types.is_integer(values.type) or pa.types.is_temporal(values.type)):
        return False
    bits = 64 if values.type.bit_width == 64 else 32  # as Parquet stores them
    numbers = values.drop_null().cast(pa.int64() if bits == 64 else pa.int32()).to_numpy()
    steps = np.diff(numbers.astype(np.int64, copy=False))
    return bool(len(steps)) and (int(steps.max()) - int(steps.min())).bit_length() <= bits * _NARROW
