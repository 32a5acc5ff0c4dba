"""MAPs with keys that are declared optional, in Parquet files of Paimon 0.4 to 0.6: pyarrow refuses these files.

Such a MAP is read as a list of its entries. Both types are a group around a repeated group of keys and values, so only
the annotation changes, not the levels in the pages. `arrow.evolution` turns the entries into MAPs again.
Source: parquet-format, `parquet.thrift`; "LogicalTypes", "Maps".
"""

from __future__ import annotations

from collections.abc import Iterator

from paimon_core.formats.parquet.footer import schema_elements
from paimon_core.formats.parquet.thrift import I32, Fields

_REPETITION, _CHILDREN, _CONVERTED, _LOGICAL = 3, 5, 6, 10  # SchemaElement
_OPTIONAL, _REPEATED = 1, 2
_MAPS, _LIST = (1, 2), (I32, 3)  # converted types
_LOGICAL_MAP = 2


def maps_as_lists(file: Fields) -> bool:
    """Annotate MAPs with optional keys as lists, and return whether there are any."""
    elements, found = schema_elements(file), False
    for group, repeated, key in _maps(elements):
        if repeated[_REPETITION][1] == _REPEATED and key[_REPETITION][1] == _OPTIONAL:
            for element in (group, repeated):
                element.pop(_LOGICAL, None)
                element.pop(_CONVERTED, None)
            group[_CONVERTED] = _LIST
            found = True
    return found


def _maps(elements: list[Fields]) -> Iterator[tuple[Fields, Fields, Fields]]:
    """Yield the groups that are MAPs, their repeated groups, and their keys, which follow one another."""
    for group, repeated, key in zip(elements, elements[1:], elements[2:], strict=False):
        is_map = group.get(_CONVERTED, (I32, -1))[1] in _MAPS or _LOGICAL_MAP in group.get(_LOGICAL, (I32, {}))[1]
        if is_map and group.get(_CHILDREN, (I32, 0))[1] == 1 and repeated.get(_CHILDREN, (I32, 0))[1] == 2:
            yield group, repeated, key
