"""Definitions of new tables: CREATE TABLE, LIKE, AS SELECT and REPLACE TABLE as schemas."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    UnsupportedFeatureError,
)
from paimon_core.format_table.kind import FORMAT_TABLE, TYPE, is_format_table
from paimon_core.format_table.options import SUPPORTED
from paimon_core.format_table.table import FormatTable
from paimon_core.object_table import is_object_table, refuse_object_table
from paimon_core.options import BUCKET, FILE_FORMAT
from paimon_core.spec.identifier import Identifier, PathIdentifier
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import Operation
from paimon_core.store.branches import LENDING
from paimon_core.store.ddl.constraints import is_constraint, refuse_constraint_option
from paimon_core.store.ddl.generated_columns import is_generated, refuse_generated_option
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.base import (
    Catalog,
    StagedTable,
    SupportsLocations,
)
from paimon_sql.preprocess import DECLARED_TYPES_PROPERTY, EXCLUDED_PROPERTY
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.older.table_info import NewTable
from paimon_sql.spark.jvm.pipelines import is_pipeline
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.tables.clustering import CLUSTER_BY, check_clustered, clustering_option, in_spelling_of
from paimon_sql.spark.tables.constants import with_constants
from paimon_sql.spark.tables.constraints import defined_constraints
from paimon_sql.spark.tables.declared_types import apply_declared_types
from paimon_sql.spark.tables.format_table import StagedFormatTable
from paimon_sql.spark.tables.generated_columns import defined_columns, with_partition_columns
from paimon_sql.spark.tables.session_catalogs import without_own_name
from paimon_sql.spark.tables.staged_table import StagedSparkTable
from paimon_sql.spark.tables.table_changes import check_history
from paimon_sql.spark.types import from_struct, read_struct

PROVIDER = "paimon"
# properties that Spark adds to every CREATE TABLE, beside the user's own
_RESERVED = ("provider", "comment", "location", "is_managed_location", "external", "table_type", "__clustering_columns")
_KEY = "primary-key"
_PATH = "path"  # the option with a table's location
_NOT_COPIED = ("path", "owner", *LENDING)
_STORED_AS = frozenset(("hive.stored-as", "hive.input-format", "hive.output-format", "hive.serde"))


@dataclass(frozen=True, slots=True)
class SparkDefinitions:
    """The definitions of tables in one catalog of a session; `name` is the catalog's name there."""

    jvm: Jvm
    session: SessionBridge
    catalog: Catalog
    name: str

    def create(self, identifier: Identifier, new: NewTable) -> None:
        """Create the table of a CREATE TABLE statement."""
        schema = self.schema(identifier, new, staged=False)
        names = [f.name for f in schema.fields]
        check_history(identifier, names, schema.primary_keys, partial(is_pipeline, self.jvm))
        self.catalog.create_table(identifier, schema, ignore_if_exists=False)

    def create_like(self, identifier: Identifier, new: NewTable, copied: TableSchema | None) -> None:
        """Create a table with the columns of a source. If the source is a Paimon table, `copied` is its schema, which
        also gives keys, options and comment.
        """
        if copied is None:
            self.create(identifier, new)
            return
        properties = dict(new.properties)
        check_not_stored_as(str(identifier), properties)
        excluded = properties.pop(EXCLUDED_PROPERTY, "").split(",")
        given, comment = self._options(identifier, properties, staged=False), properties.get("comment")
        schema = schema_like(copied, given, comment, excluded, names_type="provider" in properties)
        self.catalog.create_table(identifier, schema, ignore_if_exists=False)

    def stage(self, identifier: Identifier, new: NewTable, operation: Operation, *, replaces: bool) -> Any:
        """Return the table of a statement, which publishes its definition together with its rows."""
        schema = self.schema(identifier, new, staged=True)
        replaced = self.catalog.load_table(identifier) if replaces else None
        if is_object_table(schema.options) or (replaced is not None and is_object_table(replaced.schema.options)):
            raise refuse_object_table(str(identifier))
        if is_format_table(schema.options):
            if replaced is not None and not is_format_table(replaced.schema.options):
                raise _irreplaceable(identifier)
            staged = (self.catalog.stage_replace if replaces else self.catalog.stage_create)(identifier, schema)
            files = None if replaced is None else FormatTable.of(replaced.store)
            return StagedFormatTable(self.jvm, self.session, self.name, staged, files)
        if replaced is not None and is_format_table(replaced.schema.options):
            raise _irreplaceable(identifier)

        def stage(options: Mapping[str, str]) -> StagedTable:
            made = self.catalog.stage_replace if replaces else self.catalog.stage_create
            return made(identifier, self.schema(identifier, new, options, staged=True) if options else schema)

        return StagedSparkTable(self.jvm, self.session, self.name, stage, replaced, operation)

    def schema(
        self, identifier: Identifier, new: NewTable, more: Mapping[str, str] | None = None, *, staged: bool
    ) -> TableSchema:
        """Return the schema of a statement's table, with `more` options."""
        properties = dict(new.properties) | dict(more or {})
        excluded = properties.pop(EXCLUDED_PROPERTY, "")  # a CREATE TABLE LIKE with a source that is not a Paimon table
        declared = properties.pop(DECLARED_TYPES_PROPERTY, None)
        fields = apply_declared_types(from_struct(read_struct(new.schema_json)), declared)
        refuse_constraint_option(properties)
        refuse_generated_option(properties)
        constraints = defined_constraints(self.session, fields, new.constraints)
        transforms, generated = () if "partitions" in excluded else new.partitions, dict(new.generated)
        partitions = [t for t in transforms if str(t.name()) != CLUSTER_BY]
        fields, keys = with_partition_columns(partitions, fields, generated)
        spelled = in_spelling_of(fields, self.session.known_as)
        clustered = clustering_option(transforms, properties, spelled)
        if _KEY in properties:
            properties[_KEY] = ",".join(spelled(name.strip()) for name in properties[_KEY].split(","))
        made = defined_columns(self.session, fields, generated)
        own = {c.key: c.value for c in constraints} | {g.key: g.value for g in made}
        schema = new_table_schema(
            with_constants(self.session, fields),
            partition_keys=keys,
            options=self._options(identifier, properties, staged=staged) | own | clustered,
            comment=properties.get("comment"),
        )
        if clustered:
            check_clustered(str(identifier), schema)
        return schema

    def _options(self, identifier: Identifier, properties: Mapping[str, str], *, staged: bool) -> dict[str, str]:
        """Return the table's options among the properties of a statement.

        If the table is `staged`, the statement may be `saveAsTable`. That gives Spark's default source if the user
        names none.
        """
        provider = properties.get("provider", PROVIDER).lower()
        is_default = staged and provider == self.session.default_source()
        if provider not in (PROVIDER, *SUPPORTED) and not is_default:
            raise UnsupportedFeatureError(
                f"Table {identifier} cannot be created with USING {provider}: catalog {self.name} makes Paimon"
                f" tables. Leave USING out, write USING paimon, or one of {', '.join(SUPPORTED)} for a format table."
            )
        options = {k: v for k, v in properties.items() if k not in _RESERVED and not k.startswith("option.")}
        own = {"path": str(identifier)} if isinstance(identifier, PathIdentifier) else {}
        own |= {"catalog": self.name, "database": identifier.database, "table": identifier.table}
        options = without_own_name(options, **own) | self._location(identifier, properties)
        is_format = provider in SUPPORTED and not is_default
        return options | ({TYPE: FORMAT_TABLE, FILE_FORMAT.key: provider} if is_format else {})

    def _location(self, identifier: Identifier, properties: Mapping[str, str]) -> dict[str, str]:
        """Return the option for the LOCATION of a statement; empty without LOCATION. Raises `UnsupportedFeatureError`
        if tables of this catalog cannot have one.
        """
        location = properties.get("location")
        if location is None:
            return {}
        if not isinstance(self.catalog, SupportsLocations):
            raise UnsupportedFeatureError(
                f"Table {identifier} cannot have a LOCATION: this catalog keeps its tables below its warehouse. "
                "Leave LOCATION out."
            )
        self.catalog.check_location(location)
        return {_PATH: location}


def check_not_stored_as(table: str, properties: Mapping[str, str]) -> None:
    """Raise `UnsupportedFeatureError` for STORED AS, which Spark passes as properties."""
    if properties.keys() & _STORED_AS:
        raise UnsupportedFeatureError(
            f"CREATE TABLE {table} LIKE … STORED AS is not supported: the new table has the file format of its "
            f"source. Leave STORED AS out, or choose another format by TBLPROPERTIES ('{FILE_FORMAT.key}' = …)."
        )


def schema_like(
    source: TableSchema, given: Mapping[str, str], comment: str | None, excluded: Collection[str], *, names_type: bool
) -> TableSchema:
    """Return the columns, partition keys, primary key, options and comment of a table, without the parts in `excluded`.

    The statement's options (`given`), including a primary key, and its comment override the table's own. If the
    statement names a type (USING, `names_type`) that turns a Paimon table into a format table, or the reverse, no
    options are copied: they do not apply to the other kind of table.

    Raises the errors of `new_table_schema`.
    """
    other_type = names_type and is_format_table(given) != is_format_table(source.options)
    copies_options = not other_type and "options" not in excluded
    left_out = _NOT_COPIED if source.bucket_keys else (*_NOT_COPIED, BUCKET.key)  # a bucket needs a key
    copies_constraints = not other_type and "constraints" not in excluded
    copied = {
        k: v
        for k, v in source.options.items()
        if (
            copies_constraints
            if is_constraint(k)
            else not other_type
            if is_generated(k)
            else copies_options and k not in left_out
        )
    }
    copies_key = _KEY not in given and "constraints" not in excluded
    return new_table_schema(
        source.fields,
        partition_keys=() if "partitions" in excluded else source.partition_keys,
        options=copied | dict(given),
        comment=source.comment if comment is None else comment,
        primary_keys=source.primary_keys if copies_key else (),
    )


def _irreplaceable(identifier: Identifier) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"Table {identifier} cannot be replaced by a table of another type, because a format table has no versions: "
        "drop it and create it anew."
    )
