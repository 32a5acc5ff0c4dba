"""The commands of PySpark's writers, made as Spark 4.0 makes them before it runs them; later versions return them.

Writers keep their arguments in private fields, which this module reads.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.gateway import Jvm, accessible_field

_Writer = Any  # a writer of PySpark


def append_command(jvm: Jvm, writer: _Writer) -> JavaObject:
    """Return the append command of a `DataFrameWriterV2`."""
    return jvm.java_class(classes.APPEND_DATA).byName(*_by_name(jvm, writer, "INSERT"))


def overwrite_command(jvm: Jvm, writer: _Writer, condition: JavaObject) -> JavaObject:
    """Return the overwrite command of a `DataFrameWriterV2`, for the rows that a Java Column selects."""
    relation, rows, options = _by_name(jvm, writer, "INSERT", "DELETE")
    # `ExpressionUtils.expression` would wrap the column, and the deletion by filters cannot read the wrapped column
    found = jvm.scala_object(classes.COLUMN_CONVERTER).apply(condition.node())
    return jvm.java_class(classes.OVERWRITE_BY_EXPRESSION).byName(relation, rows, found, options)


def overwrite_partitions_command(jvm: Jvm, writer: _Writer) -> JavaObject:
    """Return the command of a `DataFrameWriterV2` that overwrites the partitions of its rows."""
    made = jvm.java_class(classes.OVERWRITE_PARTITIONS)
    return made.byName(*_by_name(jvm, writer, "INSERT", "DELETE"))


def save_command(jvm: Jvm, writer: _Writer, name: str) -> JavaObject | None:
    """Return the command of a `DataFrameWriter` that appends to an existing table. Return None for other modes: these
    write rows without casts.
    """
    if str(writer._jwrite.curmode().name()) != "Append":
        return None
    relation, rows, options = _by_position(jvm, writer, name, "INSERT")
    return jvm.java_class(classes.APPEND_DATA).byName(relation, rows, options)


def insert_command(jvm: Jvm, writer: _Writer, name: str, *, dynamic: bool) -> JavaObject:
    """Return the insert command of a `DataFrameWriter`. If `dynamic`, an overwrite replaces only the partitions of its
    rows.
    """
    if str(writer._jwrite.curmode().name()) != "Overwrite":
        return jvm.java_class(classes.APPEND_DATA).byPosition(*_by_position(jvm, writer, name, "INSERT"))
    relation, rows, options = _by_position(jvm, writer, name, "INSERT", "DELETE")
    if dynamic:
        return jvm.java_class(classes.OVERWRITE_PARTITIONS).byPosition(relation, rows, options)
    always = jvm.constant(classes.LITERAL, "TrueLiteral")()
    return jvm.java_class(classes.OVERWRITE_BY_EXPRESSION).byPosition(relation, rows, always, options)


def merge_command(jvm: Jvm, writer: _Writer) -> JavaObject | None:
    """Return the command of a `MergeIntoWriter`. Return None if it has no actions: PySpark raises the error
    for that.
    """
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
    """Return the table, rows and options of a `DataFrameWriterV2`. The command needs `privileges` on the table."""
    java = writer._jwriter
    relation = _relation(jvm, _private(java, "tableName"), *privileges)
    return relation, _private(java, "logicalPlan"), _immutable(jvm, _private(java, "options"))


def _by_position(jvm: Jvm, writer: _Writer, name: str, *privileges: str) -> tuple[JavaObject, JavaObject, JavaObject]:
    """Return the table, rows and options of a `DataFrameWriter`. The command needs `privileges` on the table."""
    parts = writer._spark._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(name)
    rows = writer._df._jdf.queryExecution().logical()
    return _relation(jvm, parts, *privileges), rows, _immutable(jvm, writer._jwrite.extraOptions())


def _relation(jvm: Jvm, parts: JavaObject, *privileges: str) -> JavaObject:
    """Return a relation by its name; the command needs `privileges` on the table."""
    found = jvm.java_class(classes.UNRESOLVED_RELATION)(parts, connector.string_map(jvm, {}), False)
    asked = [jvm.constant(classes.WRITE_PRIVILEGE, privilege) for privilege in privileges]
    return found.requireWritePrivileges(jvm.seq(asked))


def _immutable(jvm: Jvm, entries: JavaObject) -> JavaObject:
    return getattr(jvm.scala_object(classes.SCALA_MAP), "from")(entries)


def _private(owner: JavaObject, name: str) -> Any:
    return accessible_field(owner, name).get(owner)
