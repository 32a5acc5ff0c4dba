"""The commands of PySpark's writers, made as Spark 4.0 makes them before it runs them; later versions return them.

Writers keep their arguments in private fields.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.gateway import Jvm, accessible_field

_Writer = Any  # one of PySpark's


def append_command(jvm: Jvm, writer: _Writer) -> JavaObject:
    """Of a `DataFrameWriterV2`."""
    return jvm.java_class(classes.APPEND_DATA).byName(*_by_name(jvm, writer, "INSERT"))


def overwrite_command(jvm: Jvm, writer: _Writer, condition: JavaObject) -> JavaObject:
    """Of a `DataFrameWriterV2`, for the rows of a Java Column."""
    relation, rows, options = _by_name(jvm, writer, "INSERT", "DELETE")
    # `ExpressionUtils.expression` would wrap the column, which the deletion by filters does not see through
    found = jvm.scala_object(classes.COLUMN_CONVERTER).apply(condition.node())
    return jvm.java_class(classes.OVERWRITE_BY_EXPRESSION).byName(relation, rows, found, options)


def overwrite_partitions_command(jvm: Jvm, writer: _Writer) -> JavaObject:
    """Of a `DataFrameWriterV2`."""
    made = jvm.java_class(classes.OVERWRITE_PARTITIONS)
    return made.byName(*_by_name(jvm, writer, "INSERT", "DELETE"))


def save_command(jvm: Jvm, writer: _Writer, name: str) -> JavaObject | None:
    """Of a `DataFrameWriter` that appends to an existing table; None for other modes, which write rows as they are."""
    if str(writer._jwrite.curmode().name()) != "Append":
        return None
    relation, rows, options = _by_position(jvm, writer, name, "INSERT")
    return jvm.java_class(classes.APPEND_DATA).byName(relation, rows, options)


def insert_command(jvm: Jvm, writer: _Writer, name: str, *, dynamic: bool) -> JavaObject:
    """Of a `DataFrameWriter`; `dynamic` says whether to overwrite the partitions of the rows, not all."""
    if str(writer._jwrite.curmode().name()) != "Overwrite":
        return jvm.java_class(classes.APPEND_DATA).byPosition(*_by_position(jvm, writer, name, "INSERT"))
    relation, rows, options = _by_position(jvm, writer, name, "INSERT", "DELETE")
    if dynamic:
        return jvm.java_class(classes.OVERWRITE_PARTITIONS).byPosition(relation, rows, options)
    always = jvm.constant(classes.LITERAL, "TrueLiteral")()
    return jvm.java_class(classes.OVERWRITE_BY_EXPRESSION).byPosition(relation, rows, always, options)


def merge_command(jvm: Jvm, writer: _Writer) -> JavaObject | None:
    """Of a `MergeIntoWriter`; None if it has no actions: PySpark raises the error for that."""
    java = writer._jwriter
    actions = java.matchedActions(), java.notMatchedActions(), java.notMatchedBySourceActions()
    if all(found.isEmpty() for found in actions):
        return None
    on = jvm.java_class(classes.EXPRESSION_UTILS).expression(_private(java, "on"))
    return jvm.java_class(classes.MERGE_INTO_TABLE)(
        _relation(jvm, _private(java, "tableName"), "INSERT", "UPDATE", "DELETE"),
        _private(java, "logicalPlan"),
        on,
        *(found.toSeq() for found in actions),
        bool(java.schemaEvolutionEnabled()),
    )


def _by_name(jvm: Jvm, writer: _Writer, *privileges: str) -> tuple[JavaObject, JavaObject, JavaObject]:
    """The table, the rows and the options of a `DataFrameWriterV2`."""
    java = writer._jwriter
    relation = _relation(jvm, _private(java, "tableName"), *privileges)
    return relation, _private(java, "logicalPlan"), _immutable(jvm, _private(java, "options"))


def _by_position(jvm: Jvm, writer: _Writer, name: str, *privileges: str) -> tuple[JavaObject, JavaObject, JavaObject]:
    """The table, the rows and the options of a `DataFrameWriter`."""
    parts = writer._spark._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(name)
    rows = writer._df._jdf.queryExecution().logical()
    return _relation(jvm, parts, *privileges), rows, _immutable(jvm, writer._jwrite.extraOptions())


def _relation(jvm: Jvm, parts: JavaObject, *privileges: str) -> JavaObject:
    """A table by its name, on which the command asks for privileges."""
    found = jvm.java_class(classes.UNRESOLVED_RELATION)(parts, connector.string_map(jvm, {}), False)
    asked = [jvm.constant(classes.WRITE_PRIVILEGE, privilege) for privilege in privileges]
    return found.requireWritePrivileges(jvm.seq(asked))


def _immutable(jvm: Jvm, entries: JavaObject) -> JavaObject:
    return getattr(jvm.scala_object(classes.SCALA_MAP), "from")(entries)


def _private(owner: JavaObject, name: str) -> Any:
    return accessible_field(owner, name).get(owner)
