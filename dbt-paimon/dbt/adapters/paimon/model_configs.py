"""The configs of a model that define its table, checked before a statement runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paimon_sql.catalog.privileges.rules import Privilege, Scope

STRATEGIES = ("append", "merge", "insert_overwrite", "microbatch", "upsert")

_INSTEAD = {
    "location_root": "the catalog chooses the location of its tables",
    "clustered_by": "set the options bucket-key and bucket",
    "buckets": "set the option bucket",
}
_OWN_CONFIG = {"primary-key": "primary_key", "partition": "partition_by"}


Grant = tuple[str, str]  # a user, and a privilege on the table


@dataclass(frozen=True)
class TableConfigs:
    """The configs of a model about its table."""

    primary_key: tuple[str, ...]
    partition_by: tuple[str, ...]
    options: dict[str, object]
    grants: frozenset[Grant] = field(default_factory=frozenset)

    @property
    def properties(self) -> dict[str, object]:
        """Return the options of the table, including its primary key, as CREATE TABLE … AS SELECT takes them."""
        key = {"primary-key": ",".join(self.primary_key)} if self.primary_key else {}
        return {**key, **self.options}


def read(config: Mapping[str, Any], model: Mapping[str, Any]) -> TableConfigs:
    """Return the table's configs from a model's config and contract. Raises `ValueError` for values that
    are not valid.
    """
    file_format = config.get("file_format") or "paimon"
    if file_format != "paimon":
        raise ValueError(
            f"file_format '{file_format}': a Paimon catalog has Paimon tables. Leave file_format out; the format of"
            " data files is the option file.format."
        )
    for name, instead in _INSTEAD.items():
        if config.get(name) is not None:
            raise ValueError(f"{name} does not exist for Paimon tables: {instead}.")
    return TableConfigs(
        primary_key=_primary_key(config, model),
        partition_by=_names("partition_by", config.get("partition_by")),
        options=_options(config),
        grants=_grants(config.get("grants") or {}),
    )


def strategy(config: Mapping[str, Any], table: TableConfigs) -> str:
    """Return the incremental strategy. If the model names none, it is upsert with a primary key, merge with a unique
    key, else append. Raises `ValueError` if the table cannot have the strategy. A strategy that the user has defined is
    not checked.
    """
    given = config.get("incremental_strategy")
    unique = _names("unique_key", config.get("unique_key"), separator=None)  # it may be an expression
    if not given or given == "default":
        return "upsert" if table.primary_key and unique in ((), table.primary_key) else "merge" if unique else "append"
    if given == "upsert":
        _check_upsert(unique, table)
    if given == "merge" and not unique and not table.primary_key:
        raise ValueError(
            "incremental_strategy merge needs unique_key or a primary_key, which name the rows to replace."
        )
    if given == "microbatch" and not table.partition_by:
        raise ValueError(
            f"incremental_strategy microbatch needs partition_by, by a column of the grain of batch_size"
            f" ({config.get('batch_size')}): a batch replaces the partitions of its rows."
        )
    return str(given)


def _check_upsert(unique: tuple[str, ...], table: TableConfigs) -> None:
    if not table.primary_key:
        raise ValueError(
            "incremental_strategy upsert needs a primary_key: without one an INSERT adds rows. Set primary_key, or use"
            " merge."
        )
    if unique and set(unique) != set(table.primary_key):
        raise ValueError(
            f"incremental_strategy upsert replaces rows by the primary_key ({', '.join(table.primary_key)}), but"
            f" unique_key is ({', '.join(unique)}). Leave unique_key out, or use merge."
        )


def _primary_key(config: Mapping[str, Any], model: Mapping[str, Any]) -> tuple[str, ...]:
    given = _names("primary_key", config.get("primary_key"))
    if given or not (config.get("contract") or {}).get("enforced"):
        return given
    constraints = model.get("constraints") or []
    named = [n for c in constraints if c.get("type") == "primary_key" for n in c.get("columns") or []]
    columns = (model.get("columns") or {}).items()
    marked = [name for name, c in columns if any(i.get("type") == "primary_key" for i in c.get("constraints") or [])]
    return tuple(named or marked)


def _grants(given: Any) -> frozenset[Grant]:
    if not isinstance(given, Mapping):
        raise ValueError(f"grants must be a mapping of privileges to users, not {given!r}.")
    for privilege in given:
        Privilege.named(privilege).check_grantable(Scope.TABLE)
    return frozenset(
        (user, privilege.strip().upper())
        for privilege, users in given.items()
        for user in ([users] if isinstance(users, str) else users or [])
    )


def _options(config: Mapping[str, Any]) -> dict[str, object]:
    merged: dict[str, object] = {}
    for name in ("tblproperties", "options"):  # dbt-spark's name for it, and ours
        given = config.get(name) or {}
        if not isinstance(given, Mapping):
            raise ValueError(f"{name} must be a mapping of names to values, not {given!r}.")
        merged |= given
    for option, instead in _OWN_CONFIG.items():
        if option in merged:
            raise ValueError(f"The option {option} must be set as the config {instead}.")
    return merged


def _names(what: str, given: Any, separator: str | None = ",") -> tuple[str, ...]:
    """Return names of columns: a text is one name, or several with separators."""
    if not given:
        return ()
    names = given.split(separator) if isinstance(given, str) and separator else given
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) and n.strip() for n in names):
        raise ValueError(f"{what} must be the name of a column, or a list of names, not {given!r}.")
    return tuple(n.strip().strip("`") for n in names)
