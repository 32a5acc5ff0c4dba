"""The options of Iceberg metadata (`paimon_core.iceberg`). Source: Paimon's `IcebergOptions`."""

from __future__ import annotations

from paimon_core.options.option import Option, boolean, integer, one_of, optional

DISABLED, TABLE_LOCATION, HADOOP_CATALOG = "disabled", "table-location", "hadoop-catalog"
_STORAGES = (DISABLED, TABLE_LOCATION, HADOOP_CATALOG, "hive-catalog", "rest-catalog")

ICEBERG_STORAGE = Option(
    "metadata.iceberg.storage",
    one_of(*_STORAGES),
    DISABLED,
    "Where commits put metadata for readers of Iceberg.",
)
ICEBERG_STORAGE_LOCATION = Option(
    "metadata.iceberg.storage-location",
    optional(one_of(TABLE_LOCATION, "catalog-location")),
    None,
    "The folder of Iceberg's metadata, whatever the storage: in the table's, or in WAREHOUSE/iceberg.",
)
ICEBERG_DELETE_AFTER_COMMIT = Option(
    "metadata.iceberg.delete-after-commit.enabled", boolean, True, "Remove old versions of Iceberg's metadata."
)
ICEBERG_PREVIOUS_VERSIONS = Option(
    "metadata.iceberg.previous-versions-max", integer, 0, "How many of them to keep.", least=0
)
ICEBERG_MIN_MANIFESTS = Option(
    "metadata.iceberg.compaction.min.file-num", integer, 10, "Small Iceberg manifests to merge, at least.", least=2
)
ICEBERG_MAX_MANIFESTS = Option(
    "metadata.iceberg.compaction.max.file-num", integer, 50, "More small ones than this are always merged.", least=2
)

ICEBERG_OPTIONS = (
    ICEBERG_MAX_MANIFESTS,
    ICEBERG_MIN_MANIFESTS,
    ICEBERG_DELETE_AFTER_COMMIT,
    ICEBERG_PREVIOUS_VERSIONS,
    ICEBERG_STORAGE,
    ICEBERG_STORAGE_LOCATION,
)
