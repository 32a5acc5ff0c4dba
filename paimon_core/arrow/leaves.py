"""The leaf columns of a schema: columns with values, at the top or within nested columns."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa


def leaves(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    """Return the path and type of each column that is not nested, at any depth."""
    return [leaf for field in schema for leaf in _leaves(field.name, field.type)]


def _leaves(path: str, arrow: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    if pa.types.is_map(arrow):
        yield from _leaves(f"{path}.key_value.{arrow.key_field.name}", arrow.key_type)
        yield from _leaves(f"{path}.key_value.{arrow.item_field.name}", arrow.item_type)
    elif pa.types.is_list(arrow):
        yield from _leaves(f"{path}.list.element", arrow.value_type)
    elif pa.types.is_struct(arrow):
        for field in arrow:
            yield from _leaves(f"{path}.{field.name}", field.type)
    else:
        yield path, arrow
