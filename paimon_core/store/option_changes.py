"""Which options of a table stay what they were when it was created, for ALTER TABLE and for one use alike."""

from __future__ import annotations

from paimon_core.errors import InvalidOptionError
from paimon_core.options import BUCKET, TableOptions, names
from paimon_core.spec.schema import TableSchema

_IMMUTABLE = frozenset(
    (
        "aggregation.remove-record-on-delete",
        "blob-descriptor-field",
        "blob-field",
        "blob-view-field",
        "bucket-function.type",
        "bucket-key",
        "data-evolution.enabled",
        "data-file.path-directory",
        "dynamic-bucket.initial-buckets",
        "force-lookup",
        "index-file-in-data-file-dir",
        "merge-engine",
        "partial-update.remove-record-on-delete",
        "partial-update.remove-record-on-sequence-group",
        "partition",
        "path",
        "pk-clustering-override",
        "primary-key",
        "primary-key.nullable",
        "row-tracking.enabled",
        "rowkind.field",
        "sequence.snapshot-ordering",
        "type",
    )
)


KEY_OPTIONS = ("primary-key", "partition")  # in a schema keys are no options, but they may be spelled as such


def check_option_set(schema: TableSchema, key: str, value: str) -> None:
    """Raises `InvalidOptionError` where the option cannot have another value than the table gave it."""
    if schema.options.get(key) == value or _says_the_keys(schema, key, value):
        return
    if key in _IMMUTABLE:
        raise InvalidOptionError(f"Option {key!r} cannot be changed after the table was created: create another table.")
    if key == BUCKET.key:
        old, new = TableOptions(schema.options)[BUCKET], TableOptions({key: value})[BUCKET]
        if -1 in (old, new):
            raise InvalidOptionError(f"Option 'bucket' cannot change from '{old}' to '{new}': create another table.")


def check_option_removed(key: str) -> None:
    """Raises `InvalidOptionError` where the option has to stay."""
    if key in _IMMUTABLE or key == BUCKET.key:
        raise InvalidOptionError(f"Option {key!r} cannot be removed after the table was created.")


def _says_the_keys(schema: TableSchema, key: str, value: str) -> bool:
    keys = dict(zip(KEY_OPTIONS, (schema.primary_keys, schema.partition_keys), strict=True))
    return key in keys and names(value) == keys[key]
