"""Relations of plans with options that choose which rows are read, such as `incremental-between`.

Spark passes the options of a relation to a table only. For views and queries of WITH it ignores them, and returns all
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from py4j.java_gateway import JavaObject

from paimon_core.dataclass import dataclass
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import hook, method


@dataclass(frozen=True, slots=True)
class ChosenRelation:
    """A relation with an option that chooses its rows. `parts` is its name, in full if a view names it; `is_temporary`
    marks a temporary view that a view names.
    """

    option: str
    parts: tuple[str, ...]
    is_temporary: bool = False

    @classmethod
    def of(cls, text: str) -> ChosenRelation:
        """Return the relation of a text, as the rule in `ChosenRows.java` writes it."""
        option, mark, *parts = text.split("\0")
        return cls(option, tuple(parts), bool(mark))


@hook(
    "`UnresolvedWith.cteRelations`, `UnresolvedRelation.options`",
    "options that choose rows, on queries of WITH",
    method(classes.UNRESOLVED_WITH, "cteRelations", 0),
    method(classes.UNRESOLVED_RELATION, "options", 0),
    method(classes.LOGICAL_PLAN, "innerChildren", 0),
)
def chosen_queries(jvm: Jvm, plan: JavaObject, options: Sequence[str]) -> list[tuple[str, str]]:
    """Return the queries of WITH that a parsed plan reads with one of the options: each option and name."""
    found = str(jvm.compiled("ChosenRows").queries(plan, jvm.array_list(options)))
    return [(option, name) for option, _, name in (line.partition("\0") for line in found.split("\n") if line)]


@hook(
    "`SparkSessionExtensions.injectHintResolutionRule`, `Analyzer.hintResolutionRules`",
    "options that choose rows, on views",
    method(classes.SESSION_EXTENSIONS, "injectHintResolutionRule", 1),
    method(classes.ANALYZER, "hintResolutionRules", 0),
    method(classes.ANALYSIS_CONTEXT, "catalogAndNamespace", 0),
    method(classes.ANALYSIS_CONTEXT, "referredTempViewNames", 0),
)
def check_chosen_relations(jvm: Jvm, session: JavaObject, options: Sequence[str], check: Any) -> None:
    """Make the session, and sessions created from it, call `check` for each relation with one of the options, before
    Spark resolves the relation. `check` is a proxy of a function of a session and a text, which `ChosenRelation.of`
    reads. Does nothing if the session has the rule already.
    """
    analyzer = session.sessionState().analyzer()
    jvm.compiled("ChosenRows").install(session, session.extensions(), analyzer, jvm.array_list(options), check)
