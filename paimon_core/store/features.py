"""What of a table this version reads and writes: anything else is refused by name, never misread.

One line per feature: the option, its default, the values that work. The rest of a table's options is passed on.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.options import BUCKET
from paimon_core.spec.types import Kind
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class _Feature:
    option: str
    default: str
    works: tuple[str, ...]
    keyed_only: bool = False


_READ = (
    _Feature("type", "table", ("table",)),
    _Feature("data-evolution.enabled", "false", ("false",), keyed_only=True),
    _Feature("blob-view-field", "", ("",)),
    _Feature("manifest.format", "avro", ("avro", "parquet", "orc")),
    _Feature("primary-key.nullable", "false", ("false",), keyed_only=True),
)
_WRITE = (
    *_READ,
    _Feature("file.format", "parquet", ("parquet", "orc", "avro", "csv", "json")),
    _Feature("row-tracking.enabled", "false", ("false",), keyed_only=True),
    _Feature("pk-clustering-override", "false", ("false",), keyed_only=True),
    *(_Feature(f"pk-{kind}.index.columns", "", ("",)) for kind in ("bitmap", "btree", "full-text", "vector")),
    _Feature(
        "data-file.external-paths.strategy",
        "none",
        ("none", "round-robin", "specific-fs", "weight-robin", "entropy-inject"),
    ),
)


def check_readable(store: TableStore) -> None:
    """Raises `UnsupportedFeatureError` where reading this version of the table needs more than this library does."""
    _check(store, _READ, "read")


def check_writable(store: TableStore) -> None:
    """Raises `UnsupportedFeatureError` where a commit to the table would break what other engines rely on."""
    _check(store, _WRITE, "written")
    if not store.has_primary_key:
        return
    blobs = [f.name for f in store.schema.fields if f.type.kind is Kind.BLOB]
    if blobs:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be written: column {blobs[0]!r} is a BLOB, which keyed tables have not in "
            "this version."
        )
    if store.options[BUCKET] == 0:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be written: 'bucket' = '0' means no buckets; primary-key tables work with "
            "'bucket' = '-1', '-2', or '1' or more."
        )


def _check(store: TableStore, features: tuple[_Feature, ...], verb: str) -> None:
    for feature in features:
        value = store.options.values.get(feature.option, feature.default).strip().lower()
        if value not in feature.works and (store.has_primary_key or not feature.keyed_only):
            works = " or ".join(map(repr, feature.works)) + " works" if any(feature.works) else "tables without it work"
            raise UnsupportedFeatureError(
                f"Table {store.name} cannot be {verb}: '{feature.option}' = {value!r} is not supported yet; {works}."
            )
