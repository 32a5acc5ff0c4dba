"""CREATE TABLE … LIKE: the parts of the definition that it copies from a Paimon table of any catalog."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.format_table.options import is_format_table
from paimon_core.options import BUCKET, FILE_FORMAT
from paimon_core.spec.schema import TableSchema
from paimon_core.store.branches import LENDING
from paimon_core.store.ddl.new_schema import new_table_schema

_NOT_COPIED = ("path", "owner", *LENDING)
_STORED_AS = frozenset(("hive.stored-as", "hive.input-format", "hive.output-format", "hive.serde"))


def check_not_stored_as(table: str, properties: Mapping[str, str]) -> None:
    """Raises `UnsupportedFeatureError` for STORED AS, which Spark hands over as properties."""
    if properties.keys() & _STORED_AS:
        raise UnsupportedFeatureError(
            f"CREATE TABLE {table} LIKE … STORED AS is not supported: a table has the file format of its source. "
            f"Leave it out, or name another by TBLPROPERTIES ('{FILE_FORMAT.key}' = …)."
        )


def schema_like(
    source: TableSchema, given: Mapping[str, str], comment: str | None, excluded: Collection[str], *, names_type: bool
) -> TableSchema:
    """The columns, partition keys, primary key, options and comment of a table, but for the parts that are `excluded`.

    The statement's options (`given`), including a primary key, and its comment win. If the statement names a type
    (USING, `names_type`) that turns a Paimon table into a format table, or the reverse, no options are copied: they do
    not apply to the other kind of table.

    Raises as `new_table_schema`.
    """
    other_type = names_type and is_format_table(given) != is_format_table(source.options)
    copies_options = not other_type and "options" not in excluded
    left_out = _NOT_COPIED if source.bucket_keys else (*_NOT_COPIED, BUCKET.key)  # new tables have no keyless buckets
    copied = {k: v for k, v in source.options.items() if copies_options and k not in left_out}
    copies_key = "primary-key" not in given and "constraints" not in excluded
    return new_table_schema(
        source.fields,
        partition_keys=() if "partitions" in excluded else source.partition_keys,
        options=copied | dict(given),
        comment=source.comment if comment is None else comment,
        primary_keys=source.primary_keys if copies_key else (),
    )
