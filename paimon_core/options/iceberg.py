"""The options of Iceberg metadata (`paimon_core.iceberg`). Source: Paimon's `IcebergOptions`."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.errors import InvalidOptionError
from paimon_core.options.option import Option, TableOptions, boolean, integer, one_of, optional

DISABLED, TABLE_LOCATION, HADOOP_CATALOG = "disabled", "table-location", "hadoop-catalog"
HIVE_CATALOG, REST_CATALOG = "hive-catalog", "rest-catalog"
_STORAGES = (DISABLED, TABLE_LOCATION, HADOOP_CATALOG, HIVE_CATALOG, REST_CATALOG)
_PREFIX = "metadata.iceberg."
_RESERVED = frozenset(
    (
        *("format-version", "uuid", "snapshot-count", "current-schema", "default-partition-spec", "default-sort-order"),
        *("current-snapshot-summary", "current-snapshot-id", "current-snapshot-timestamp-ms"),
    )
)
ICEBERG_REST = f"{_PREFIX}rest."  # followed by an option of Iceberg's REST client
ICEBERG_PROPERTIES = f"{_PREFIX}table-properties."  # followed by a property of the table at a server

ICEBERG_STORAGE = Option(
    "metadata.iceberg.storage",
    one_of(*_STORAGES),
    DISABLED,
    "Folder or catalog for the metadata that readers of Iceberg use.",
)
ICEBERG_STORAGE_LOCATION = Option(
    "metadata.iceberg.storage-location",
    optional(one_of(TABLE_LOCATION, "catalog-location")),
    None,
    "Folder of Iceberg's metadata: in the table's folder, or in WAREHOUSE/iceberg; overrides the storage's default.",
)
ICEBERG_DELETE_AFTER_COMMIT = Option(
    "metadata.iceberg.delete-after-commit.enabled", boolean, True, "Remove old versions of Iceberg's metadata."
)
ICEBERG_PREVIOUS_VERSIONS = Option(
    "metadata.iceberg.previous-versions-max", integer, 0, "Old versions of Iceberg's metadata to keep.", least=0
)
ICEBERG_MIN_MANIFESTS = Option(
    "metadata.iceberg.compaction.min.file-num", integer, 10, "Fewest small Iceberg manifests to merge.", least=2
)
ICEBERG_MAX_MANIFESTS = Option(
    "metadata.iceberg.compaction.max.file-num", integer, 50, "More small manifests are always merged.", least=2
)
ICEBERG_DATABASE = Option(
    "metadata.iceberg.database",
    optional(str),
    None,
    "Database of the table in Iceberg's catalog, or several, separated by semicolons; default: the same.",
)
ICEBERG_TABLE = Option(
    "metadata.iceberg.table", optional(str), None, "Name of the table in Iceberg's catalog; default: the same."
)
ICEBERG_URI = Option(
    "metadata.iceberg.uri",
    optional(str),
    None,
    "Hive metastore of 'hive-catalog', thrift://host:port; default: the metastore of the table's catalog.",
)
ICEBERG_HIVE_CONF_DIR = Option(
    "metadata.iceberg.hive-conf-dir", optional(str), None, "Folder of a hive-site.xml that names the metastore."
)
ICEBERG_HIVE_CLIENT = Option(
    "metadata.iceberg.hive-client-class",
    optional(str),
    None,
    "Java's class for the metastore; only Hive's Thrift client works.",
)
ICEBERG_HIVE_SKIP_STATS = Option(
    "metadata.iceberg.hive-skip-update-stats", boolean, False, "Keep the metastore from counting the table's files."
)
ICEBERG_GLUE_SKIP_ARCHIVE = Option(
    "metadata.iceberg.glue.skip-archive", boolean, False, "Keep AWS Glue from archiving older entries."
)

ICEBERG_OPTIONS = (
    ICEBERG_MAX_MANIFESTS,
    ICEBERG_MIN_MANIFESTS,
    ICEBERG_DATABASE,
    ICEBERG_DELETE_AFTER_COMMIT,
    ICEBERG_GLUE_SKIP_ARCHIVE,
    ICEBERG_HIVE_CLIENT,
    ICEBERG_HIVE_CONF_DIR,
    ICEBERG_HIVE_SKIP_STATS,
    ICEBERG_PREVIOUS_VERSIONS,
    ICEBERG_STORAGE,
    ICEBERG_STORAGE_LOCATION,
    ICEBERG_TABLE,
    ICEBERG_URI,
)


def is_in_iceberg_catalog(options: TableOptions) -> bool:
    """Return whether an Iceberg catalog must register the metadata."""
    return options[ICEBERG_STORAGE] in (HIVE_CATALOG, REST_CATALOG)


def iceberg_properties(options: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of the table at a server. Raises `InvalidOptionError`."""
    found = {k.removeprefix(ICEBERG_PROPERTIES): v for k, v in options.items() if k.startswith(ICEBERG_PROPERTIES)}
    for name in found:
        if not name or name in _RESERVED:
            raise InvalidOptionError(
                f"Option '{ICEBERG_PROPERTIES}{name}' cannot be set: "
                f"{'Iceberg sets this property itself' if name else 'it names no property'}. Remove it."
            )
    return found


def iceberg_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of Iceberg metadata."""
    return {key: value for key, value in options.items() if key.startswith(_PREFIX)}
