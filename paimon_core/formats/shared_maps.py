"""The MAPs that a file stores with a column per key, because the option `fields.X.map.storage-layout` is
`shared-shredding`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence

import pyarrow as pa

from paimon_core.arrow.map_shredding import LRU, PLAIN, SEQUENTIAL, SHARED, MapShredder, physical_type, widest
from paimon_core.arrow.shredded_maps import LAYOUTS
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError
from paimon_core.options import DISABLED, ICEBERG_STORAGE, Option, TableOptions, integer, one_of
from paimon_core.spec.types import DataField, Kind, MapType

LAYOUT_SUFFIX = ".map.storage-layout"
_MOST_COLUMNS = 256


@dataclass(frozen=True, slots=True)
class SharedMaps:
    """The MAPs of a file with a column per key, by name, with the number of their columns."""

    shredders: Mapping[str, tuple[MapShredder, int]]

    def schema(self, logical: pa.Schema) -> pa.Schema:
        """Return the columns of the file."""
        return pa.schema([self._field(f) for f in logical]) if self.shredders else logical

    def physical(self, rows: pa.Table) -> pa.Table:
        """Return the rows as the file has them. Raises `InvalidDataError`."""
        for i, field in enumerate(rows.schema):
            if field.name not in self.shredders:
                continue
            shredder, _ = self.shredders[field.name]
            stored = self._field(field)
            try:
                chunks = [shredder.physical(c) for c in rows.column(i).chunks]
            except ValueError as e:
                raise InvalidDataError(
                    f"Column {field.name!r} has a MAP that cannot be stored with a column per key: {e}. Write another "
                    f"value, or unset '{layout(field.name).key}'."
                ) from e
            rows = rows.set_column(i, stored, pa.chunked_array(chunks, stored.type))
        return rows

    def parts(self, physical: pa.Schema) -> pa.Schema:
        """Return the columns that have such MAPs."""
        return pa.schema([f for f in physical if f.name in self.shredders])

    def metadata(self, physical: pa.Schema) -> dict[str, str]:
        """Return the metadata of the file, after its last row."""
        if not self.shredders:
            return {}
        fields = [f.with_metadata({**(f.metadata or {}), **self._of(f.name)}) for f in physical]
        return {LAYOUTS.decode(): b64encode(pa.schema(fields).serialize()).decode()}

    def _of(self, name: str) -> dict[str, str]:
        return self.shredders[name][0].metadata() if name in self.shredders else {}

    def _field(self, field: pa.Field) -> pa.Field:
        if field.name not in self.shredders:
            return field
        return field.with_type(physical_type(field.type, self.shredders[field.name][1]))


def shared_maps(fields: Sequence[DataField], options: TableOptions, first_rows: pa.Table) -> SharedMaps:
    """Return the MAPs of a file with these first rows. A MAP has as many columns as the widest of them needs, up to the
    option's number.
    """
    found = dict[str, tuple[MapShredder, int]]()
    for field in fields:
        if is_shared(field, options):
            columns = max(1, min(options[most_columns(field.name)], widest(first_rows.column(field.name))))
            found[field.name] = MapShredder(columns, options[placement(field.name)]), columns
    return SharedMaps(found)


def is_shared(field: DataField, options: TableOptions) -> bool:
    """Return whether files have a column per key of this MAP. Readers of Iceberg know MAPs only."""
    is_map = isinstance(field.type, MapType) and field.type.key.kind is Kind.VARCHAR
    return is_map and options[layout(field.name)] == SHARED and options[ICEBERG_STORAGE] == DISABLED


def layout(column: str) -> Option[str]:
    """Return the option for the layout of a MAP."""
    return Option(f"fields.{column}{LAYOUT_SUFFIX}", one_of("default", SHARED), "default", "Layout of a MAP in files.")


def most_columns(column: str) -> Option[int]:
    """Return the option for the number of columns that keys share."""
    key = f"fields.{column}.map.shared-shredding.max-columns"
    return Option(key, integer, _MOST_COLUMNS, "Most columns for the keys of a MAP.", least=1)


def placement(column: str) -> Option[str]:
    """Return the option that decides which column stores which key."""
    key = f"fields.{column}.map.shared-shredding.column-placement-policy"
    return Option(key, one_of(LRU, PLAIN, SEQUENTIAL), LRU, "Which columns the keys of a MAP get.")
