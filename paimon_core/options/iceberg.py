"""The options of Iceberg metadata (`paimon_core.iceberg`). Source: Paimon's `IcebergOptions`."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.options.option import Option, TableOptions, boolean, integer, one_of, optional

DISABLED, TABLE_LOCATION, HADOOP_CATALOG = "disabled", "table-location", "hadoop-catalog"
HIVE_CATALOG, REST_CATALOG = "hive-catalog", "rest-catalog"
_STORAGES = (DISABLED, TABLE_LOCATION, HADOOP_CATALOG, HIVE_CATALOG, REST_CATALOG)
_PREFIX = "metadata.iceberg."
ICEBERG_REST = f"{_PREFIX}rest."  # and an option of Iceberg's client for REST

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
ICEBERG_DATABASE = Option(
    "metadata.iceberg.database",
    optional(str),
    None,
    "The database of the table in Iceberg's catalog, or several with semicolons; default: as here.",
)
ICEBERG_TABLE = Option(
    "metadata.iceberg.table", optional(str), None, "What the table is called in Iceberg's catalog; default: as here."
)
ICEBERG_URI = Option(
    "metadata.iceberg.uri",
    optional(str),
    None,
    "The Hive metastore of 'hive-catalog', thrift://host:port; default: that of the table's own catalog.",
)
ICEBERG_HIVE_CONF_DIR = Option(
    "metadata.iceberg.hive-conf-dir", optional(str), None, "The folder of a hive-site.xml that names the metastore."
)
ICEBERG_HIVE_CLIENT = Option(
    "metadata.iceberg.hive-client-class",
    optional(str),
    None,
    "Java's class for the metastore; only the one that speaks Hive's Thrift works.",
)
ICEBERG_HIVE_SKIP_STATS = Option(
    "metadata.iceberg.hive-skip-update-stats", boolean, False, "The metastore does not count the files of the table."
)
ICEBERG_GLUE_SKIP_ARCHIVE = Option(
    "metadata.iceberg.glue.skip-archive", boolean, False, "A metastore that is AWS Glue keeps no older entries."
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
    """Whether a catalog of Iceberg's is to name the metadata."""
    return options[ICEBERG_STORAGE] in (HIVE_CATALOG, REST_CATALOG)


def iceberg_options(options: Mapping[str, str]) -> dict[str, str]:
    """What options say of Iceberg metadata."""
    return {key: value for key, value in options.items() if key.startswith(_PREFIX)}
