"""Statements inside of parsed plans: the statements of a script, the statement after WITH, and the statement on a table
that IDENTIFIER(…) names."""

from __future__ import annotations

from collections.abc import Callable

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import items, texts
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import hook, java_type, method


@hook(
    "`CompoundPlanStatement`, `SingleStatement.parsedPlan`",
    "Paimon's statements in SQL scripts",
    java_type(f"{classes.PLANS_PACKAGE}.CompoundPlanStatement"),
    method(f"{classes.PLANS_PACKAGE}.SingleStatement", "parsedPlan", 0),
)
def with_statements(jvm: Jvm, plan: JavaObject, change: Callable[[JavaObject], JavaObject]) -> JavaObject | None:
    """Return a script with `change` applied to each statement, condition and query in it; None for a plan that is not a
    script.
    """
    if simple_name(plan) != "CompoundBody":
        return None
    nested = jvm.compiled("NestedStatements")
    return nested.withStatements(plan, jvm.array_list([change(found) for found in nested.statements(plan)]))


@hook(
    "`UnresolvedProcedure.nameParts`",
    "statements that only Paimon has in SQL scripts",
    method(classes.UNRESOLVED_PROCEDURE, "nameParts", 0),
)
def called_procedure(plan: JavaObject) -> tuple[str, ...]:
    """Return the name of the procedure that a parsed CALL, or EXPLAIN of a CALL, calls. Return an empty name for any
    other statement.
    """
    if simple_name(plan) == "ExplainCommand":
        return called_procedure(plan.logicalPlan())
    if simple_name(plan) != "Call" or simple_name(plan.procedure()) != "UnresolvedProcedure":
        return ()
    return texts(plan.procedure().nameParts())


@hook(
    "`UnresolvedWith.child`, `cteRelations`",
    "INSERT, DELETE, UPDATE and MERGE INTO behind WITH",
    method(classes.UNRESOLVED_WITH, "child", 0),
    method(classes.UNRESOLVED_WITH, "cteRelations", 0),
)
def behind_with(plan: JavaObject) -> tuple[JavaObject, frozenset[str]] | None:
    """Return the statement after WITH, and the names that the WITH defines; None for a plan without WITH."""
    if simple_name(plan) != "UnresolvedWith":
        return None
    relations = plan.cteRelations()
    names = frozenset(str(relations.apply(i).productElement(0)) for i in range(relations.size()))
    return plan.child(), names


@hook(
    "`SubqueryExpression.withNewPlan`, `QueryPlan.transformExpressions`",
    "INSERT, DELETE, UPDATE and MERGE INTO behind WITH",
    method(classes.SUBQUERY_EXPRESSION, "withNewPlan", 1),
    method(classes.LOGICAL_PLAN, "transformExpressions", 1),
)
def with_queries(jvm: Jvm, plan: JavaObject, *, is_target_child: bool) -> JavaObject:
    """Move WITH from a statement into each query of the statement. `is_target_child` means that the first child of the
    statement's node is the table that it changes.
    """
    return jvm.compiled("NestedStatements").withQueries(plan, int(is_target_child))


@hook(
    "`Union` of `InsertIntoStatement`", "FROM t INSERT … INSERT …", java_type(classes.UNION), java_type(classes.INSERT)
)
def with_inserts(jvm: Jvm, plan: JavaObject, change: Callable[[JavaObject], JavaObject]) -> JavaObject | None:
    """Return a parsed `FROM t INSERT … INSERT …` with `change` applied to each INSERT; None for any other plan."""
    if simple_name(plan) != "Union":
        return None
    inserts = items(plan.children())
    if {simple_name(found) for found in inserts} != {"InsertIntoStatement"}:
        return None
    return plan.withNewChildren(jvm.seq([change(found) for found in inserts]))


# statements with the table that they change as the first child
_WITH_TARGETS = frozenset(
    {"AnalyzeColumn", "AnalyzeTable", "DeleteFromTable", "DropPartitions", "MergeIntoTable", "UpdateTable"}
)


@hook(
    "`PlanWithUnresolvedIdentifier`",
    "changes of a table that IDENTIFIER(…) names by an expression",
    method(classes.PLAN_OF_NAME, "identifierExpr", 0),
    method(classes.PLAN_OF_NAME, "planBuilder", 0),
    method(classes.PLAN_OF_NAME, "children", 0),
)
def name_of_target(plan: JavaObject) -> JavaObject | None:
    """Return the expression in `IDENTIFIER(…)` that names the table of a parsed statement; None for a statement without
    it.
    """
    kind = simple_name(plan)
    if kind == "PlanWithUnresolvedIdentifier":
        return plan.identifierExpr()
    if kind == "UnresolvedWith":
        return name_of_target(plan.child())
    if kind == "UnresolvedInsert":
        return name_of_target(plan.table())
    if kind in _WITH_TARGETS or kind == "SubqueryAlias":
        return name_of_target(plan.children().head())
    return None
