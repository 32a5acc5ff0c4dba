"""Statements without a counterpart in Spark's SQL, as values; the bridge runs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, NamedTuple

from paimon_core.dataclass import dataclass
from paimon_sql.preprocess.edits import Rewriting

Name = tuple[str, ...]  # the parts of a table's name
TypeNode = str | dict[str, Any]  # a column's type in the form of a Paimon schema file


@dataclass(frozen=True, slots=True)
class CatalogStatement:
    """`CREATE CATALOG name WITH (options)`, or DROP CATALOG if `options` is absent (`None`). `lenient` is IF [NOT]
    EXISTS.
    """

    name: str
    options: Mapping[str, str] | None
    lenient: bool


@dataclass(frozen=True, slots=True)
class CreateLike:
    """`CREATE TABLE [IF NOT EXISTS] table LIKE source [USING provider] [STORED AS …] [TBLPROPERTIES (…)]`. `properties`
    are in the form in which Spark passes them, including `provider` and `hive.stored-as`.
    """

    table: Name
    source: Name
    lenient: bool
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CreatePythonFunction:
    """`CREATE [OR REPLACE] FUNCTION [IF NOT EXISTS] name (parameters) RETURNS type LANGUAGE PYTHON AS $$ body $$`;
    `lenient` is IF NOT EXISTS; `deterministic` is `None` if the statement does not have it."""

    name: Name
    parameters: str
    returns: str
    body: str
    replaces: bool = False
    lenient: bool = False
    comment: str | None = None
    deterministic: bool | None = None


@dataclass(frozen=True, slots=True)
class CreateTag:
    """`ALTER TABLE table CREATE TAG tag AS OF VERSION snapshot RETAIN retained`, and REPLACE TAG.

    An existing tag is an error, unless `replaces` or `if_not_exists`. With `must_exist` (REPLACE), a missing tag is an
    error.
    """

    table: Name
    tag: str
    replaces: bool = False
    must_exist: bool = False
    if_not_exists: bool = False
    snapshot: int | None = None
    retained: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteTags:
    """`ALTER TABLE table DELETE TAG tags`: one tag, or several with commas between them."""

    table: Name
    tags: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameTag:
    """`ALTER TABLE table RENAME TAG tag TO target`."""

    table: Name
    tag: str
    target: str


class ColumnChange(NamedTuple):  # made in a third of the time of a frozen dataclass: a statement may have hundreds
    """A column that is added (`adds`) or modified. Parts that the statement does not have are `None` or `False`."""

    name: str
    type: TypeNode
    adds: bool = False
    comment: str | None = None
    first: bool = False
    after: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeColumns:
    """`ALTER TABLE table MODIFY (changes)`, and ADD of columns with types that Spark's SQL does not have."""

    table: Name
    changes: tuple[ColumnChange, ...]


@dataclass(frozen=True, slots=True)
class AddCheck:
    """`ALTER TABLE table ADD [CONSTRAINT name] CHECK (condition) [NOT ENFORCED]`; `name` is `None` without one."""

    table: Name
    name: str | None
    condition: str
    enforced: bool = True
    relies: bool = False


@dataclass(frozen=True, slots=True)
class CopyIntoTable:
    """`COPY INTO table (columns) FROM 'source' FILE_FORMAT = (format) …`. `columns` of None means all columns.

    Names of format options are in upper case, their values are texts or lists of texts.
    """

    table: Name
    source: str
    format: Mapping[str, str | list[str]] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    pattern: str | None = None
    force: bool = False
    on_error: str = "ABORT_STATEMENT"


@dataclass(frozen=True, slots=True)
class CopyIntoFolder:
    """`COPY INTO 'target' FROM (query) FILE_FORMAT = (format) …`; see `CopyIntoTable`."""

    target: str
    query: str
    format: Mapping[str, str | list[str]] = field(default_factory=dict)
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class CreateMaterialized:
    """`CREATE MATERIALIZED TABLE [IF NOT EXISTS] table … AS query`; `freshness` is a number and a unit, `mode` is
    `None` if the statement does not have it."""

    table: Name
    query: str
    freshness: tuple[str, str]
    mode: str | None
    partitions: tuple[str, ...]
    options: Mapping[str, str]
    comment: str | None
    lenient: bool


@dataclass(frozen=True, slots=True)
class RefreshMaterialized:
    """`REFRESH MATERIALIZED TABLE table [PARTITION (…)]`, or with another `query`: ALTER MATERIALIZED TABLE … AS."""

    table: Name
    partition: Mapping[str, str] = field(default_factory=dict)
    query: str | None = None


@dataclass(frozen=True, slots=True)
class SuspendMaterialized:
    """`ALTER MATERIALIZED TABLE table SUSPEND`, or RESUME."""

    table: Name
    suspended: bool


@dataclass(frozen=True, slots=True)
class DropMaterialized:
    """`DROP MATERIALIZED TABLE [IF EXISTS] table`."""

    table: Name
    lenient: bool


@dataclass(frozen=True, slots=True)
class ShowMaterialized:
    """`SHOW MATERIALIZED TABLES [IN database] [LIKE pattern]`."""

    database: Name
    pattern: str | None


MaterializedStatement = (
    CreateMaterialized | RefreshMaterialized | SuspendMaterialized | DropMaterialized | ShowMaterialized
)
TableStatement = CreateTag | DeleteTags | RenameTag | ChangeColumns | AddCheck
CopyStatement = CopyIntoTable | CopyIntoFolder
Value = CatalogStatement | CreatePythonFunction | TableStatement | CopyStatement | MaterializedStatement


@dataclass(frozen=True, slots=True)
class PaimonStatement:
    """A statement for the bridge. `explain` is the EXPLAIN before it, empty without one.

    `named_by` is the expression of `IDENTIFIER(expression)`. Its value is the name of the statement's table or
    database, which has the name `NAMED_LATER` in `value`.
    """

    value: Value
    explain: str = ""
    named_by: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """A `BEGIN … END`. Its text calls a placeholder for each of the `statements` that only Paimon has."""

    rewriting: Rewriting
    statements: tuple[PaimonStatement, ...] = ()

    _PLACEHOLDER: ClassVar = "statement of Paimon "

    @property
    def text(self) -> str:
        """Return the text for Spark."""
        return self.rewriting.text

    @classmethod
    def placeholder(cls, number: int) -> str:
        """Return the call of a statement's placeholder."""
        return f"`{cls._PLACEHOLDER}{number}`()"

    def statement_at(self, called: str) -> PaimonStatement | None:
        """Return the statement with this placeholder. Return None if `called` is another procedure, which a user or
        another parser may have written.
        """
        number = called.removeprefix(self._PLACEHOLDER)
        is_known = number != called and number.isdecimal() and int(number) < len(self.statements)
        return self.statements[int(number)] if is_known else None
