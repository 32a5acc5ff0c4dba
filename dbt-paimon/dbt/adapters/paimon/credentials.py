"""The keys of a profile of `type: paimon`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field, fields
from typing import Any  # dbt makes the schema of a profile from these annotations

from dbt.adapters.spark.connections import SparkConnectionMethod, SparkCredentials
from dbt_common.exceptions import DbtRuntimeError

from paimon_core.secrets import redacted, without_secrets

_METHODS = ("session", "thrift")
_OF_SESSIONS = ("warehouse", "metastore", "uri", "catalog_options", "master")
_SETTING = "set:hiveconf:"
_PREFIXES = ("set:", "use:")
_ANSI = "spark.sql.ansi.enabled"


@dataclass
class PaimonCredentials(SparkCredentials):
    """A profile: the location of the tables, and the Spark that runs the statements.

    `catalog` (dbt's `database`) is the name of the Paimon catalog. With the method `session`, `warehouse`, `metastore`,
    `uri` and `catalog_options` define it, and `server_side_parameters` are Spark's settings. Without a warehouse, these
    settings or `spark-defaults.conf` configure the catalog. With `remote`, the session is one of Spark Connect, and the
    server configures the catalog. The method `thrift` is dbt-spark's.
    """

    _ALIASES = {"catalog": "database"}

    method: SparkConnectionMethod = SparkConnectionMethod.SESSION
    warehouse: str | None = None
    metastore: str | None = None
    uri: str | None = None
    catalog_options: dict[str, Any] = field(default_factory=dict)
    master: str | None = None
    remote: str | None = None  # sc://host:port
    server_side_parameters: dict[str, Any] = field(default_factory=dict)  # YAML's numbers and booleans, too

    @classmethod
    def __pre_deserialize__(cls, data: Any) -> Any:
        data = super().__pre_deserialize__(data)
        _check_keys(data, {f.name for f in fields(cls)})
        return {**data, "database": data.get("database") or "paimon"}

    def __post_init__(self) -> None:
        if self.method not in _METHODS:
            raise DbtRuntimeError(f"method '{self.method}' does not exist for Paimon: use session or thrift.")
        if self.method == SparkConnectionMethod.SESSION:
            self.host = self.host or "this process"  # dbt-spark requires one
        if self.remote and self.method == SparkConnectionMethod.SESSION:
            self._refuse_settings("remote", _OF_SESSIONS)
        elif self.method != SparkConnectionMethod.SESSION:
            self._refuse_settings(f"method {self.method}", (*_OF_SESSIONS, "remote"))
        catalog, self.database = self.database, None  # dbt-spark does not support catalogs
        given = {str(key): _text(value) for key, value in self.server_side_parameters.items()}
        super().__post_init__()
        self.database = catalog
        # dbt-spark turns Spark's ANSI mode off, because its macros need that; the profile's setting overrides it
        self.server_side_parameters = {_ANSI: "false", **given}
        self.catalog_options = {str(key): _text(value) for key, value in self.catalog_options.items()}

    def over_thrift(self) -> PaimonCredentials:
        """Return the same profile with its settings in the form that HiveServer2 takes when a session is opened.
        HiveServer2 ignores keys without these prefixes.
        """
        settings = {
            k if k.startswith(_PREFIXES) else f"{_SETTING}{k}": v for k, v in self.server_side_parameters.items()
        }
        made = copy(self)
        made.server_side_parameters = settings
        return made

    @property
    def type(self) -> str:
        return "paimon"

    @property
    def unique_field(self) -> str:
        return self.warehouse or without_secrets(self.remote or "") or self.host or self.database or ""

    def connection_info(self, *, with_aliases: bool = False) -> Iterable[tuple[str, Any]]:
        """Yield the values that `dbt debug` shows and that macros see as `target`, without secrets."""
        for key, value in super().connection_info(with_aliases=with_aliases):
            if isinstance(value, dict):
                yield key, redacted({k: str(v) for k, v in value.items()})
            else:
                yield key, without_secrets(value) if isinstance(value, str) else value
        if with_aliases:
            yield "catalog", self.database

    def _connection_keys(self) -> tuple[str, ...]:
        common = ("method", "database", "schema")
        if self.method == SparkConnectionMethod.SESSION:
            return (*common, *_OF_SESSIONS, "remote", "server_side_parameters")
        return (*common, "host", "port", "user", "auth", "use_ssl", "server_side_parameters")

    def _refuse_settings(self, beside: str, names: Iterable[str]) -> None:
        given = [name for name in names if getattr(self, name)]
        if given:
            raise DbtRuntimeError(
                f"{', '.join(given)}: with {beside} the server configures its catalogs. Leave this out, or use method"
                " session without remote."
            )


def _check_keys(data: dict[str, Any], known: set[str]) -> None:
    for key in data:
        if key not in known:
            near = difflib.get_close_matches(key, [*known, "catalog"], 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise DbtRuntimeError(
                f"'{key}' is not a setting of a Paimon profile.{hint} Options of the catalog go below catalog_options,"
                " Spark's settings below server_side_parameters."
            )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
