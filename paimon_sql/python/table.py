"""A table in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

import pyarrow as pa

from paimon_core.arrow.types import arrow_schema, without_ids
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.format_table.options import is_format_table
from paimon_core.object_table import is_object_table
from paimon_core.secrets import redacted
from paimon_core.spec.identifier import Identifier
from paimon_core.table import Table
from paimon_sql.catalog.base import Catalog
from paimon_sql.python.definitions import column_changes, comment_changes, option_changes


@dataclass(frozen=True)
class PaimonTable:
    """A table as it was when it was loaded: its schema is fixed, but each call looks up the present versions.

    A table may be used from several threads.
    """

    catalog: Catalog = field(repr=False)
    identifier: Identifier
    inner: Table = field(repr=False)

    @staticmethod
    def load(catalog: Catalog, identifier: Identifier, zone: tzinfo | None) -> PaimonTable:
        """Load a table of a catalog; `zone` is the zone of moments without a zone.

        Raises as `PaimonCatalog.table`.
        """
        if identifier.system_table is not None:
            raise UnsupportedFeatureError(
                f"{identifier} is a system table: open {identifier.base} and call inspect({identifier.system_table!r})."
            )
        found = catalog.load_table(identifier)
        kinds = (("format", is_format_table), ("object", is_object_table))
        for kind, is_one in kinds:
            if is_one(found.schema.options):
                raise UnsupportedFeatureError(
                    f"{identifier} is a {kind} table, which only Spark reads: use paimon_sql.connect."
                )
        return PaimonTable(catalog, identifier, found.in_zone(zone))

    @property
    def name(self) -> str:
        """The full name of the table, with its branch."""
        return str(self.identifier)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the table, as scans return them."""
        return plain_schema(arrow_schema(self.inner.schema.fields))

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the primary key, empty for an append table."""
        return self.inner.schema.primary_keys

    @property
    def partitioned_by(self) -> tuple[str, ...]:
        """The partition columns."""
        return self.inner.schema.partition_keys

    @property
    def options(self) -> dict[str, str]:
        """The options of the table; secrets are hidden."""
        return redacted(dict(self.inner.schema.options))

    @property
    def comment(self) -> str | None:
        """The comment of the table."""
        return self.inner.schema.comment

    @property
    def location(self) -> str:
        """The folder or URI of the table's files."""
        return self.inner.store.root

    def alter(
        self,
        *,
        rename: Mapping[str, str] | None = None,
        drop: str | Sequence[str] = (),
        types: Mapping[str, pa.DataType] | None = None,
        add: Mapping[str, pa.DataType] | None = None,
        options: Mapping[str, str | None] | None = None,
        comment: str | None = None,
    ) -> PaimonTable:
        """Change the table's definition in one step, and return the table with it.

        Columns are renamed, dropped, given other types and added, in this order; a dot in a name leads to a field of a
        ROW. An option with the value None is removed; an empty comment removes the comment.
        Raises `InvalidSchemaError`, `InvalidOptionError`, `UnsupportedFeatureError` for a change that Paimon does not
        allow, `CommitConflictError` if another process changes the definition meanwhile.
        """
        changes = [
            *column_changes(rename or {}, drop, types or {}, add or {}),
            *option_changes(options or {}),
            *comment_changes(comment),
        ]
        self.catalog.alter_table(self.identifier, changes)
        return self.load(self.catalog, self.identifier, self.inner.store.zone)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the ids that columns have in files."""
    return pa.schema([pa.field(f.name, without_ids(f.type), nullable=f.nullable) for f in schema])
