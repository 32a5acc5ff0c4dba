"""The options of one read: their keys in any case, and options of other formats, which are refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.options.support import in_own_spelling
from paimon_sql.preprocess import SEARCH_OPTION

_BETWEEN = "set 'incremental-between' to 'FIRST,LAST', or for a stream 'scan.mode' to 'from-snapshot'"
_BETWEEN_TIMES = "set 'incremental-between-timestamp' to 'FIRST,LAST', or for a stream 'scan.mode' to 'from-timestamp'"
_CHANGES = "read t$audit_log, with the option 'incremental-between'"
_FOREIGN: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "snapshot-id": ("Iceberg's", "set 'scan.snapshot-id', or write VERSION AS OF in SQL"),
        "as-of-timestamp": ("Iceberg's", "set 'scan.timestamp-millis', or write TIMESTAMP AS OF in SQL"),
        "tag": ("Iceberg's", "set 'scan.tag-name', or write VERSION AS OF in SQL"),
        "start-snapshot-id": ("Iceberg's", _BETWEEN),
        "end-snapshot-id": ("Iceberg's", _BETWEEN),
        "start-timestamp": ("Iceberg's", _BETWEEN_TIMES),
        "end-timestamp": ("Iceberg's", _BETWEEN_TIMES),
        "stream-from-timestamp": ("Iceberg's", "set 'scan.mode' to 'from-timestamp', and 'scan.timestamp-millis'"),
        "readChangeFeed": ("Delta Lake's", _CHANGES),
        "readChangeData": ("Delta Lake's", _CHANGES),
        "startingVersion": ("Delta Lake's", _BETWEEN),
        "endingVersion": ("Delta Lake's", _BETWEEN),
        "startingTimestamp": ("Delta Lake's", _BETWEEN_TIMES),
        "endingTimestamp": ("Delta Lake's", _BETWEEN_TIMES),
        "as.of.instant": ("Hudi's", "set 'scan.timestamp', or write TIMESTAMP AS OF in SQL"),
        "hoodie.datasource.query.type": ("Hudi's", _BETWEEN),
        "vector-search.arguments": ("an older paimon-sql's", "create the view with this option again"),
    }
)
_OF_SESSION = "spark.paimon."


def read_options(table: str, given: Mapping[str, str], *, has_vectors: bool = False) -> dict[str, str]:
    """Return the options of a read under Paimon's own keys. Only tables with `has_vectors` can be searched.

    Raises `UnsupportedFeatureError` for an option of another format's reader that decides which rows are read, and for
    a search in a table that would return all rows instead; `InvalidOptionError` for a setting of the session.
    """
    if not has_vectors and any(key.lower() == SEARCH_OPTION for key in given):
        raise UnsupportedFeatureError(
            f"A search cannot read {table}: it reads tables with snapshots only, but no system tables. "
            "Name such a table."
        )
    refuse_foreign(table, given, _FOREIGN, "read")
    return in_own_spelling(given)


def refuse_foreign(
    table: str, given: Mapping[str, str], foreign: Mapping[str, tuple[str, str]], participle: str
) -> None:
    """Raise an error for options of a read or write that would have no effect. `participle` is for the error.

    Raises `UnsupportedFeatureError` for an option of another format that decides which rows are read or written:
    `foreign` has the format and the remedy, by the option's name. Raises `InvalidOptionError` for `spark.paimon.KEY`,
    which only has an effect as a setting of the session.
    """
    names = {name.lower(): name for name in foreign}  # Spark may pass names in lower case
    for key, value in given.items():
        if key.lower().startswith(_OF_SESSION):
            raise InvalidOptionError(
                f"Table {table} cannot be used with the option {key!r}: that is a setting of a session. Write "
                f"{key[len(_OF_SESSION) :]!r}."
            )
        name = names.get(key.lower())
        if name is not None and value.strip().lower() != "false":
            owner, instead = foreign[name]
            raise UnsupportedFeatureError(
                f"Table {table} cannot be {participle} with the option '{name}', which is {owner}: {instead}."
            )
