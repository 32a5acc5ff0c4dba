"""The adapter: methods that dbt calls about a warehouse, and methods that macros call."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING, Any  # dbt makes the schema of configs from these annotations

from dbt.adapters.base import BaseAdapter, available
from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.base.relation import BaseRelation, InformationSchema
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.paimon import model_configs
from dbt.adapters.paimon.connections import PaimonConnectionManager
from dbt.adapters.paimon.literals import literal, properties, quoted, selects_of_rows, string_literal
from dbt.adapters.paimon.relation import PaimonRelation
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.impl import (
    SCHEMA_NOT_FOUND_MESSAGES,
    TABLE_OR_VIEW_NOT_FOUND_MESSAGES,
    SparkAdapter,
    SparkConfig,
)
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.exceptions import CompilationError, DbtRuntimeError

if TYPE_CHECKING:
    import agate

_NOT_FOUND = (*SCHEMA_NOT_FOUND_MESSAGES, *TABLE_OR_VIEW_NOT_FOUND_MESSAGES)
_ROWS_OF_SEED = 5_000  # rows in one VALUES


@dataclass
class PaimonConfig(SparkConfig):
    """Configs of models in addition to dbt's own."""

    file_format: str = "paimon"
    primary_key: list[str] | str | None = None
    options: dict[str, str] | None = None


class PaimonAdapter(SparkAdapter):
    Relation = PaimonRelation
    ConnectionManager = PaimonConnectionManager
    AdapterSpecificConfigs = PaimonConfig

    # the primary key belongs to the table; Paimon has no other constraints for the table of a query
    CONSTRAINT_SUPPORT = {
        ConstraintType.primary_key: ConstraintSupport.NOT_ENFORCED,
        ConstraintType.check: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.not_null: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.unique: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_SUPPORTED,
    }
    _capabilities = CapabilityDict(
        {Capability.MicrobatchConcurrency: CapabilitySupport(support=Support.Full)}  # names of views are never shared
    )

    # dbt-spark's method allows only one catalog
    get_catalog = BaseAdapter.get_catalog
    get_relation = BaseAdapter.get_relation

    def quote(self, identifier: str) -> str:
        return quoted(identifier)

    def valid_incremental_strategies(self) -> list[str]:
        return list(model_configs.STRATEGIES)

    # what dbt asks

    def _make_match_kwargs(self, database: str, schema: str, identifier: str) -> dict[str, str]:
        """Return names unchanged. Paimon's names are case-sensitive, but dbt would lower them in a project that does
        not quote them.
        """
        parts = {"database": database, "schema": schema, "identifier": identifier}
        return {part: name for part, name in parts.items() if name is not None}

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        try:
            tables = self.execute_macro("paimon_show_tables", kwargs={"relation": schema_relation})
            views = self.execute_macro("paimon_show_views", kwargs={"relation": schema_relation})
        except DbtRuntimeError as error:
            if any(text in error.msg for text in _NOT_FOUND):
                return []
            raise
        kinds = dict.fromkeys(_own_names(tables), "table") | dict.fromkeys(_own_names(views), "view")
        database, schema = schema_relation.database, schema_relation.schema
        return [
            self.Relation.create(
                database=database, schema=schema, identifier=name, type=self.Relation.get_relation_type(kind)
            )
            for name, kind in sorted(kinds.items())
        ]

    def get_columns_in_relation(self, relation: BaseRelation) -> list[SparkColumn]:
        try:
            rows = self.execute_macro("paimon_describe", kwargs={"relation": relation})
        except DbtRuntimeError as error:
            if any(text in error.msg for text in _NOT_FOUND):
                return []
            raise
        return [
            SparkColumn(column=name, dtype=kind, column_index=i) for i, (name, kind, _) in enumerate(_columns_of(rows))
        ]

    def check_schema_exists(self, database: str, schema: str) -> bool:
        return schema in self.list_schemas(database)

    def list_schemas(self, database: str) -> list[str]:
        name = database if database.startswith("`") else quoted(database)  # dbt quotes it in some calls
        return [row[0] for row in self.execute_macro("list_schemas", kwargs={"database": name})]

    def _get_one_catalog(
        self, information_schema: InformationSchema, schemas: set[str], used_schemas: frozenset[tuple[str, str]]
    ) -> agate.Table:
        import agate  # noqa: PLC0415  as dbt does: it takes a while
        from dbt_common.clients.agate_helper import DEFAULT_TYPE_TESTER  # noqa: PLC0415

        database = information_schema.database
        figures = self.execute_macro("paimon_figures", kwargs={"database": database})
        known = {(row["database_name"], row["table_name"]): row for row in figures}
        rows: list[dict[str, Any]] = []
        for schema in sorted(schemas):
            for relation in self.list_relations(database, schema):
                described = self.execute_macro("paimon_describe", kwargs={"relation": relation, "extended": True})
                stats = _stats(known.get((schema, relation.identifier)))
                rows.extend(_catalog_rows(relation, list(described), stats))
        table = agate.Table.from_object(rows, column_types=DEFAULT_TYPE_TESTER)
        return self._catalog_filter_table(table, used_schemas) if rows else table

    @classmethod
    def _get_adapter_specific_run_info(cls, config: Any) -> dict[str, Any]:
        return {"adapter_type": "paimon", "table_format": "paimon"}

    # what macros call

    @available
    def table_configs(self, config: Mapping[str, Any], model: Mapping[str, Any]) -> model_configs.TableConfigs:
        """Return the configs of a model's table. Raises a compilation error for values that are not valid."""
        try:
            found = model_configs.read(config, model)
        except ValueError as error:
            raise CompilationError(str(error)) from error
        if config.get("grants"):
            self._privileges(str(model["database"]))  # raises an error if the warehouse has no users
        return found

    @available
    def grant_changes(self, relation: BaseRelation, grants: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
        """Return the changes that give a relation exactly the grants of its config: `revoke` or `grant`, with a user
        and a privilege. An empty config changes nothing; a privilege without users revokes it.
        """
        if not grants:
            return []
        wanted = model_configs.read({"grants": grants}, {}).grants
        name = f"{relation.schema}.{relation.identifier}"
        now = {(user, privilege) for user, of, privilege in self._privileges(str(relation.database)) if of == name}
        revoked = [("revoke", *one) for one in sorted(now - wanted)]
        return revoked + [("grant", *one) for one in sorted(wanted - now)]

    def _privileges(self, database: str) -> Iterable[Sequence[Any]]:
        """Yield users, objects and privileges, as `CALL sys.list_privileges` returns them."""
        return self.execute_macro("paimon_list_privileges", kwargs={"database": database})

    @available
    def incremental_strategy(self, config: Mapping[str, Any], model: Mapping[str, Any]) -> str:
        """Return the strategy of an incremental model; by default the one that fits its keys. Raises a compilation
        error.
        """
        try:
            return model_configs.strategy(config, model_configs.read(config, model))
        except ValueError as error:
            raise CompilationError(str(error)) from error

    @available
    def literal(self, value: object) -> str:
        return literal(value)

    @available
    def comment_literal(self, text: str | None) -> str:
        return string_literal((text or "").strip())

    @available
    def properties(self, options: Mapping[str, object]) -> str:
        return properties(options)

    @available
    def temporary_identifier(self, identifier: str) -> str:
        """Return a name for a temporary view that no other node and no other batch of the session uses."""
        return f"{identifier}__dbt_tmp_{uuid.uuid4().hex[:12]}"

    @available
    def relation_comment(self, relation: BaseRelation) -> str:
        """Return the comment of a table."""
        rows = self.execute_macro("paimon_describe", kwargs={"relation": relation, "extended": True})
        return _details_of(rows).get("Comment", "")

    @available
    def column_comments(self, relation: BaseRelation) -> dict[str, str]:
        """Return the comments of columns, by the columns' names."""
        rows = self.execute_macro("paimon_describe", kwargs={"relation": relation})
        return {name: comment for name, _, comment in _columns_of(rows)}

    @available
    def seed_selects(self, agate_table: agate.Table, column_types: Mapping[str, str]) -> list[str]:
        """Return queries that together return the rows of a seed. Raises an error if `column_types` names a column that
        the seed does not have.
        """
        unknown = sorted(set(column_types) - set(agate_table.column_names))
        if unknown:
            raise CompilationError(
                f"column_types names columns that the seed does not have: {', '.join(unknown)}. "
                "Remove them, or correct their names."
            )
        inferred = {name: self.convert_type(agate_table, i) for i, name in enumerate(agate_table.column_names)}
        types = {name: column_types.get(name, kind) for name, kind in inferred.items()}
        return list(selects_of_rows([list(row) for row in agate_table.rows], types, _ROWS_OF_SEED))


def _own_names(rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return the names of SHOW TABLES and SHOW VIEWS, without the session's temporary views."""
    return [str(row[1]) for row in rows if not row[2]]


def _columns_of(rows: Iterable[Sequence[Any]]) -> list[tuple[str, str, str]]:
    """Return names, types and comments of columns: the rows of DESCRIBE before the first section."""
    found: list[tuple[str, str, str]] = []
    for name, kind, comment in rows:
        if not name or name.startswith("#"):
            break
        found.append((name, kind, comment or ""))
    return found


_DETAILS = ("# Detailed Table Information", "# Detailed View Information")


def _details_of(rows: Iterable[Sequence[Any]]) -> dict[str, str]:
    """Return the properties of the table or view itself from DESCRIBE EXTENDED, by name."""
    section = dropwhile(lambda row: row[0] not in _DETAILS, rows)
    next(section, None)
    return {row[0]: row[1] for row in takewhile(lambda row: row[0] and not row[0].startswith("#"), section)}


def _catalog_rows(relation: BaseRelation, described: list[Any], stats: dict[str, Any]) -> list[dict[str, Any]]:
    details = _details_of(described)
    common = {
        "table_database": relation.database,
        "table_schema": relation.schema,
        "table_name": relation.identifier,
        "table_type": str(relation.type),
        "table_comment": details.get("Comment", ""),
        "table_owner": details.get("Owner", ""),
    }
    return [
        {**common, "column_name": name, "column_index": i, "column_type": kind, "column_comment": comment, **stats}
        for i, (name, kind, comment) in enumerate(_columns_of(described))
    ]


_FIGURES = {
    "rows": ("record_count", "Rows", "Rows in data files: of a table with a primary key also older versions of a row"),
    "bytes": ("file_size_in_bytes", "Bytes", "Size of the data files of the latest snapshot"),
    "files": ("file_count", "Files", "Number of data files of the latest snapshot"),
}


def _stats(figures: Any) -> dict[str, Any]:
    """Return the statistics of a table that dbt's pages show, as columns of dbt's catalog. Every table has the same
    columns.
    """
    stats: dict[str, Any] = {}
    for name, (column, label, description) in _FIGURES.items():
        value = None if figures is None else figures[column]
        stats |= {
            f"stats:{name}:label": label,
            f"stats:{name}:value": None if value is None else int(value),
            f"stats:{name}:description": description,
            f"stats:{name}:include": value is not None,
        }
    return stats
