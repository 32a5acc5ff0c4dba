"""Replace parts of the columns of ORC files by other arrays, and remove the spaces that ORC adds to CHAR values.

ORC files number a column and each of its parts: the elements of a list, the keys and values of a map, the fields of a
struct. The number leads to the kind of the part in the file's footer.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.formats.orc.layout import CHAR, OrcTail

_Change = Callable[[pa.Array, int], pa.Array]


def changed_columns(batch: pa.RecordBatch, schema: pa.Schema, tail: OrcTail, change: _Change) -> pa.RecordBatch:
    """Return a batch of a file with other arrays in place of some parts.

    `schema` is the schema of the file, or the same schema with other types of parts without subparts. `change` gets the
    number of each such part, and returns the array that replaces it. Structs of the batch may lack fields.
    """
    root = dict(zip(schema.names, tail.types[0].below, strict=True))
    fields = [schema.field(name) for name in batch.schema.names]
    arrays = [_changed(c, f.type, tail, root[f.name], change) for c, f in zip(batch.columns, fields, strict=True)]
    types = pa.schema([f.with_type(a.type) for f, a in zip(fields, arrays, strict=True)])
    return pa.RecordBatch.from_arrays(arrays, schema=types)


def without_char_spaces(batch: pa.RecordBatch, schema: pa.Schema, tail: OrcTail) -> pa.RecordBatch:
    """Return a batch of a file without the spaces at the end of CHAR values.

    Java's ORC writer fills CHAR values with spaces up to the length of the type, and Java's ORC reader removes them.
    pyarrow reads the values as they are in the file.
    """
    if all(column.kind != CHAR for column in tail.types):
        return batch
    return changed_columns(
        batch, schema, tail, lambda part, i: pc.utf8_rtrim(part, " ") if tail.types[i].kind == CHAR else part
    )


def _changed(column: pa.Array, wanted: pa.DataType, tail: OrcTail, number: int, change: _Change) -> pa.Array:
    below = tail.types[number].below
    if not below:
        return change(column, number)
    nulls = column.is_null() if column.null_count else None
    if pa.types.is_struct(wanted):
        read = list(zip(wanted, below, strict=True))
        if column.type.num_fields < len(read):
            read = [(f, n) for f, n in read if column.type.get_field_index(f.name) >= 0]
        children = [_changed(column.field(i), f.type, tail, n, change) for i, (f, n) in enumerate(read)]
        fields = [f.with_type(c.type) for (f, _), c in zip(read, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=nulls)
    if pa.types.is_map(wanted):
        keys = _changed(column.keys, wanted.key_type, tail, below[0], change)
        items = _changed(column.items, wanted.item_type, tail, below[1], change)
        target = pa.map_(wanted.key_field.with_type(keys.type), wanted.item_field.with_type(items.type))
        return pa.MapArray.from_arrays(column.offsets, keys, items, type=target, mask=nulls)
    values = _changed(column.values, wanted.value_type, tail, below[0], change)
    target = pa.list_(wanted.value_field.with_type(values.type))
    return pa.ListArray.from_arrays(column.offsets, values, type=target, mask=nulls)
