"""CLUSTER BY: the columns that writes and compactions sort the rows of an append table by.

They are the option `clustering.columns`, which Paimon's other engines know, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.format_table.kind import is_format_table
from paimon_core.options import BUCKET, CLUSTERING_COLUMNS
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField
from paimon_core.store.ddl.schema_changes import RemoveOption, SchemaChange, SetOption
from paimon_core.store.table_store import TableStore

Spelling: TypeAlias = "Callable[[str], str]"
CLUSTER_BY = "cluster_by"  # the name of Spark's transform
_DECLARED = "spark.cluster-by"  # an option of ours: the clause of the table, and not only its option, names the columns


def in_spelling_of(fields: Iterable[DataField], known_as: Spelling) -> Spelling:
    """Return a function that spells a column as a table does. Other names stay as they are."""
    own = [f.name for f in fields]
    names = {known_as(name): name for name in own}
    return lambda name: name if name in own else names.get(known_as(name), name)


def clustering_option(transforms: Sequence[Any], given: Mapping[str, str], spelled: Spelling) -> dict[str, str]:
    """Return the option for the CLUSTER BY clause among Spark's transforms of a new table; empty without one. `given`
    are the other options of the statement, `spelled` returns a column in the table's spelling. Raises
    `InvalidOptionError` if the options name other columns.
    """
    columns = [spelled(name) for t in transforms if str(t.name()) == CLUSTER_BY for name in _columns(t.references())]
    if not columns:
        return {}
    option, key = ",".join(columns), CLUSTERING_COLUMNS.key
    other = CLUSTERING_COLUMNS.key_in(given)
    if other is not None and [name.strip() for name in given[other].split(",")] != columns:
        raise InvalidOptionError(
            f"CLUSTER BY ({option}) and the option {other!r} name different columns: leave one out."
        )
    return {key: option, _DECLARED: "true"}


def clustering_changes(change: Any, spelled: Spelling) -> list[SchemaChange]:
    """Translate Spark's change for `ALTER TABLE … CLUSTER BY (…)`, and for `CLUSTER BY NONE`. `spelled` returns a
    column in the table's spelling.
    """
    columns, key = list(map(spelled, _columns(change.clusteringColumns()))), CLUSTERING_COLUMNS.key
    others: list[SchemaChange] = [RemoveOption(alias) for alias in CLUSTERING_COLUMNS.aliases]
    if not columns:
        return [*others, RemoveOption(key), RemoveOption(_DECLARED)]
    return [*others, SetOption(key, ",".join(columns)), SetOption(_DECLARED, "true")]


def check_clustered(table: str, schema: TableSchema) -> None:
    """Raise `UnsupportedFeatureError` for CLUSTER BY of a table that does not sort its rows by columns."""
    if is_format_table(schema.options):
        raise UnsupportedFeatureError(
            f"CLUSTER BY is not supported for table {table}: Spark writes the files of a format table in the order of "
            "the rows. Leave CLUSTER BY out."
        )
    if schema.primary_keys:
        raise UnsupportedFeatureError(
            f"CLUSTER BY is not supported for table {table}: the files of a table with a primary key are sorted by it. "
            "Leave CLUSTER BY out."
        )
    if schema.options.get(BUCKET.key, "-1") != "-1":
        raise UnsupportedFeatureError(
            f"CLUSTER BY is not supported for table {table}, which has buckets: the rows of a bucket stay in the order "
            "of their writes. Leave the option 'bucket' or CLUSTER BY out."
        )


def declared_clustering(store: TableStore) -> tuple[str, ...]:
    """Return the columns of a table's CLUSTER BY clause. A table that only has the option has no clause. A pipeline
    compares its own definition with the table's, and may set the option without a clause.
    """
    return store.options[CLUSTERING_COLUMNS] if store.schema.options.get(_DECLARED) == "true" else ()


def _columns(references: Sequence[Any]) -> list[str]:
    found = [[str(name) for name in reference.fieldNames()] for reference in references]
    nested = next((".".join(names) for names in found if len(names) > 1), None)
    if nested is not None:
        raise UnsupportedFeatureError(f"CLUSTER BY {nested} is not supported: name columns, not fields of a column.")
    return [name for names in found for name in names]
