"""The gaps of older versions of Spark: one table, which docs/spark-versions.md shows.

A statement that needs a feature missing in its Spark is refused with the text from this table.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from paimon_core.dataclass import dataclass
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.hooks import Member, constructor, grammar, python
from paimon_sql.spark.jvm.older.syntax import (
    CHANGES,
    CONSTRAINTS,
    INSERT_EVOLUTION,
    LISTED_PROCEDURES,
    STREAMS,
    UPDATE_OPTIONS,
)

VERSIONS = ("4.0", "4.1", "4.2", "4.3")  # the minor versions that the hooks are tested with


@dataclass(frozen=True, slots=True)
class Gap:
    """A feature that older versions lack. A Spark has the feature if it has the member `needs`; Apache Spark has it
    from version `since` on. `statement` matches the statements that use it; it is absent (None) if no statement must be
    refused. With `is_misread`, an older Spark may parse these statements as something else.
    """

    what: str
    since: str
    needs: Member
    instead: str
    statement: re.Pattern[str] | None = None
    is_misread: bool = False

    def refusal(self, version: str) -> str:
        """Return the message for a statement that uses the feature."""
        return f"{self.what} needs Spark {self.since}, and this is {version}: {self.instead}"


GAPS = (
    Gap(
        "INSERT WITH SCHEMA EVOLUTION",
        "4.2",
        INSERT_EVOLUTION,
        "set write.merge-schema, which does the same",
        re.compile(r"\s*insert\s+with\s+schema\s+evolution\b", re.IGNORECASE),
    ),
    Gap(
        "UPDATE … WITH (options)",
        "4.3",
        UPDATE_OPTIONS,
        "leave them out; UPDATE t$branch_b changes a branch",
        re.compile(r"\s*update\s+[^\s(]+\s+with\s*\(", re.IGNORECASE),
    ),
    Gap(
        "CHANGES of a table",
        "4.2",
        CHANGES,
        "query paimon_incremental_query('t', 1, 2) or t$audit_log",
        re.compile(r".*\bchanges\s+from\s+(?:version|timestamp)\b", re.IGNORECASE | re.DOTALL),
    ),
    Gap(
        "STREAM t in SQL",
        "4.1",
        STREAMS,
        "spark.readStream.table('t')",
        re.compile(r".*\b(?:from|join)\s+stream\b", re.IGNORECASE | re.DOTALL),
    ),
    Gap(
        "SHOW PROCEDURES and DESCRIBE PROCEDURE",
        "4.1",
        LISTED_PROCEDURES,
        "CALL of an unknown name lists them",
        re.compile(r"\s*(?:show\s+procedures\b|desc(?:ribe)?\s+procedure\s+(?:extended\s+)?\S+\.)", re.IGNORECASE),
        is_misread=True,
    ),
    Gap(
        "CHECK, UNIQUE and FOREIGN KEY of tables",
        "4.1",
        CONSTRAINTS,
        "check the rows in the query that writes them",
        re.compile(
            r"\s*(?:create|replace|alter)\b.*(?:\b(?:check|unique|foreign\s+key)\s*\(|\bdrop\s+constraint\b)",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
    Gap(
        "GENERATED ALWAYS AS of columns",
        "4.1",
        CONSTRAINTS,
        "compute the column in the query that writes it",
        re.compile(r"\s*(?:create|replace)\b.*\bgenerated\s+always\s+as\s*\(", re.IGNORECASE | re.DOTALL),
        is_misread=True,
    ),
    Gap(
        "a quote doubled in a string, 'it''s'",
        "4.1",
        grammar("CREATE TABLE t (a INT COMMENT 'it''s')"),
        r"write 'it\'s': that version reads 'it''s' as its",
    ),
    Gap(
        "sys.bucket and its kin over columns without pandas on the workers",
        "4.1",
        python("pyspark.sql.functions", "arrow_udf"),
        "install pandas where the workers run",
    ),
    Gap(
        "the rows Catalog, Database and Table of DESCRIBE EXTENDED",
        "4.2",
        constructor(classes.DESCRIBE_TABLE, 5),
        "read the row Name",
    ),
)


def gaps_of(has: Callable[[Member], bool]) -> tuple[Gap, ...]:
    """Return the features that a Spark lacks."""
    return tuple(gap for gap in GAPS if not has(gap.needs))


def refused(text: str, version: str, has: Callable[[Member], bool], *, is_parsed: bool = False) -> str | None:
    """Return the error message for a statement that Spark cannot parse. With `is_parsed`, Spark parses the statement,
    but as something else. Return None if no gap explains it.
    """
    gaps = (gap for gap in GAPS if gap.is_misread) if is_parsed else GAPS
    asked = (gap for gap in gaps if gap.statement is not None and gap.statement.match(text))
    return next((gap.refusal(version) for gap in asked if not has(gap.needs)), None)


def minor(version: str) -> str:
    """Return the part of a version number that `VERSIONS` lists, such as `4.2` for `4.2.1`."""
    return ".".join(version.split(".")[:2])
