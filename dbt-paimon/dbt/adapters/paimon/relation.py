"""Names of tables and views: three parts, each in quotes."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.base.relation import BaseRelation, Policy
from dbt.adapters.paimon.literals import quoted
from dbt.adapters.spark.relation import SparkRelation


@dataclass
class PaimonQuotePolicy(Policy):
    database: bool = True
    schema: bool = True
    identifier: bool = True


@dataclass
class PaimonIncludePolicy(Policy):
    database: bool = True
    schema: bool = True
    identifier: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class PaimonRelation(SparkRelation):
    """`catalog`.`database`.`table`. dbt calls the first two database and schema."""

    quote_policy: Policy = field(default_factory=PaimonQuotePolicy)
    include_policy: Policy = field(default_factory=PaimonIncludePolicy)

    def __post_init__(self) -> None:
        """Allow a catalog, which dbt-spark's relation does not."""

    def render(self) -> str:
        return BaseRelation.render(self)

    def quoted(self, identifier: str) -> str:
        return quoted(identifier)

    @property
    def in_catalog(self) -> str:
        """Return the name within its catalog, as procedures take it."""
        return self.include(database=False).render()
