"""What of a table this version reads and writes: anything else is refused by name, never misread.

One line per feature: the pattern of its options, the values that work. These are all options of
Paimon 2.0 and its next version that ask for files, or for ways to read them, that are not known here. The rest of a
table's options is passed on, those that are no options of Paimon's as well: Java takes any, and goes by its own only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.options import BUCKET, TableOptions
from paimon_core.spec.types import Kind
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class _Feature:
    """`key` may have a `*`, which is any text. `instead` says what to do about it."""

    key: str
    works: tuple[str, ...]
    keyed_only: bool = False
    instead: str = ""

    def asked_for(self, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The options of it whose values do not work, and these."""
        head, star, tail = self.key.partition("*")
        keys = [k for k in options if k.startswith(head) and k.endswith(tail)] if star else [self.key]
        given = ((key, options[key].strip().lower()) for key in keys if key in options)
        yield from ((key, value) for key, value in given if value not in self.works)


_SHREDDED = "shared-shredding"
_READ = (
    _Feature("type", ("table",)),
    _Feature("data-evolution.enabled", ("false",), keyed_only=True),
    _Feature("blob-view-field", ("",)),
    _Feature("fields.*.map.storage-layout", ("default", _SHREDDED)),
    _Feature("manifest.format", ("avro", "parquet", "orc")),
    _Feature("primary-key.nullable", ("false",), keyed_only=True),
    _Feature("vector-field", ("",)),
)
_ICEBERG = _Feature(
    "metadata.iceberg.storage",
    ("disabled",),
    instead="its Iceberg metadata would stay behind, and readers of Iceberg see old rows. Write it with Paimon's Java "
    "connector, or give Iceberg up: set the option to 'disabled'",
)
_WRITE = (
    *_READ,
    _Feature("file.format", ("parquet", "orc", "avro", "csv", "json")),
    _Feature("row-tracking.enabled", ("false",), keyed_only=True),
    _Feature("pk-clustering-override", ("false",), keyed_only=True),
    _Feature("pk-*.index.columns", ("",)),
    _ICEBERG,
    _Feature(
        "data-file.external-paths.strategy",
        ("none", "round-robin", "specific-fs", "weight-robin", "entropy-inject"),
    ),
)
_NEW = tuple(f for f in _WRITE if f.key != "type")


def check_definable(options: Mapping[str, str], *, keyed: bool) -> None:
    """Raises `UnsupportedFeatureError` where a table that is given these options could not be written.

    Tables of another type, such as format tables, have rules of their own.
    """
    if options.get("type", "table") != "table":
        return
    for key, value, instead in _asked_for(_NEW, options, keyed=keyed):
        raise UnsupportedFeatureError(f"Option {key!r} cannot be {value!r}: {instead}.")


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
            f"Table {store.name} cannot be written: column {blobs[0]!r} is a BLOB, which this version reads in keyed "
            "tables and does not write."
        )
    if store.options[BUCKET] == 0:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be written: 'bucket' = '0' means no buckets; primary-key tables work with "
            "'bucket' = '-1', '-2', or '1' or more."
        )


def may_be_shredded(options: TableOptions) -> bool:
    """Whether files may have the keys of MAPs in columns of their own, which Spark's scan does not know."""
    return any(k.endswith(".map.storage-layout") and v.strip().lower() == _SHREDDED for k, v in options.values.items())


def _check(store: TableStore, features: Iterable[_Feature], verb: str) -> None:
    for key, value, instead in _asked_for(features, store.options.values, keyed=store.has_primary_key):
        raise UnsupportedFeatureError(f"Table {store.name} cannot be {verb}: '{key}' = {value!r}: {instead}.")


def _asked_for(
    features: Iterable[_Feature], options: Mapping[str, str], *, keyed: bool
) -> Iterator[tuple[str, str, str]]:
    """The options that do not work, their values, and what to do about each."""
    for feature in features:
        for key, value in feature.asked_for(options) if keyed or not feature.keyed_only else ():
            works = " or ".join(map(repr, feature.works)) + " works" if any(feature.works) else "tables without it work"
            yield key, value, feature.instead or f"it is not supported yet; {works}"
