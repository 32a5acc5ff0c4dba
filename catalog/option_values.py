"""Parse the values of a catalog's options, and check the lengths of properties that a database can store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.options.support import in_own_spelling

_T = TypeVar("_T")
TABLE_DEFAULT = "table-default."
# the options of catalogs, without the options of storages and of Hive: their case counts, as in Hadoop
_OWN_KEYS = (
    "allowed-external-paths",
    "allowed-iceberg-catalogs",
    "allowed-mark-done-urls",
    "alter-table-cascade",
    "case-sensitive",
    "catalog-key",
    "client-pool-size",
    "data-token.enabled",
    "defaultDatabase",
    "dlf.access-key-id",
    "dlf.access-key-secret",
    "dlf.oss-endpoint",
    "dlf.region",
    "dlf.security-token",
    "dlf.signing-algorithm",
    "dlf.token-ecs-metadata-url",
    "dlf.token-ecs-role-name",
    "dlf.token-loader",
    "dlf.token-path",
    "format-table.enabled",
    "hadoop-conf-dir",
    "hive-conf-dir",
    "jdbc.password",
    "jdbc.user",
    "local-cache.block-size",
    "local-cache.dir",
    "local-cache.enabled",
    "local-cache.max-size",
    "local-cache.whitelist",
    "location-in-properties",
    "lock-acquire-timeout",
    "lock-check-max-sleep",
    "lock-key-max-length",
    "lock.enabled",
    "lock.type",
    "metastore",
    "password",
    "prefix",
    "rest.connection-timeout",
    "rest.read-timeout",
    "sync-all-properties",
    "table.type",
    "token",
    "token.provider",
    "type",
    "uri",
    "user",
    "warehouse",
)
_SPELLED = {key.lower(): key for key in _OWN_KEYS}


def own_spelling(given: Mapping[str, str]) -> dict[str, str]:
    """Return a catalog's options with Paimon's spelling of keys. Java gets the options from Spark, which ignores the
    case of keys: `WAREHOUSE` is `warehouse`.

    If a key is given in several spellings, Paimon's spelling wins.
    """
    defaults, found = dict[str, str](), dict[str, str]()
    for key, value in given.items():
        if key.lower().startswith(TABLE_DEFAULT):
            defaults[key[len(TABLE_DEFAULT) :]] = value
        else:
            found[_SPELLED.get(key.lower(), key)] = value
    found |= {key: value for key, value in given.items() if key in found}
    return found | {TABLE_DEFAULT + key: value for key, value in in_own_spelling(defaults).items()}


def option_value(options: Mapping[str, str], key: str, parse: Callable[[str], _T], default: _T) -> _T:
    """Return the value of an option.

    Parsers raise a `ValueError` that describes a valid value. Raises `InvalidOptionError`.
    """
    given = options.get(key)
    if given is None:
        return default
    try:
        return parse(given)
    except ValueError as error:
        raise InvalidOptionError(f"Option {key!r} cannot be {given!r}: it must be {error}.") from None


@dataclass(frozen=True, slots=True)
class Lengths:
    """The longest properties that a database stores, in characters.

    `keeper` is the name of the database, for errors.
    """

    keeper: str
    key: int
    value: int


def check_lengths(owner: str, properties: Mapping[str, str], kept: Lengths, advice: str) -> None:
    """Raise `InvalidOptionError` if a property is too long to be stored.

    `owner` is the table or database, for errors.
    """
    for key, value in properties.items():
        if len(key) > kept.key:
            raise InvalidOptionError(f"The key {key[:40]!r}… of {owner} is longer than {kept.key} characters.")
        if len(value) > kept.value:
            raise InvalidOptionError(
                f"The value of {key!r} of {owner} has {len(value)} characters, and {kept.keeper} stores at most "
                f"{kept.value}: {advice}."
            )


def keyword_options(warehouse: str | None, metastore: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a catalog from a program's keyword arguments, which have `_` instead of `-`."""
    place = {} if warehouse is None else {"warehouse": warehouse}
    options = {**place, "metastore": metastore, **{_dashed(k): v for k, v in given.items()}}
    return {key: str(value) for key, value in options.items()}


def _dashed(name: str) -> str:
    return name if "-" in name or "." in name else name.replace("_", "-")
