"""`CREATE TEMPORARY VIEW v USING paimon OPTIONS (path '/folder/table')`: Spark looks for a class of that name, so the
view becomes one of a query of the table."""

from __future__ import annotations

from py4j.java_gateway import JavaObject

from paimon_core.errors import InvalidOptionError
from paimon_sql.preprocess.quoting import quoted_name, quoted_text
from paimon_sql.spark.jvm.gateway import Jvm, class_name, scala_map_of
from paimon_sql.spark.tables.catalog import PROVIDER
from paimon_sql.spark.tables.path_names import LOCATORS, table_name

_VIEW_USING = "CreateTempViewUsing"


def view_of_path(jvm: Jvm, plan: JavaObject) -> str | None:
    """The statement that a parsed one stands for that makes a view of a table by its options; None for others.

    Raises `InvalidOptionError` where they do not tell one table.
    """
    if class_name(plan) != _VIEW_USING or str(plan.provider()).lower() != PROVIDER:
        return None
    name = str(plan.tableIdent().table())
    if plan.userSpecifiedSchema().isDefined():
        raise InvalidOptionError(f"View {name} USING {PROVIDER} has the columns of its table: leave them out.")
    options = {k: v for k, v in scala_map_of(jvm, plan.options()).items() if v is not None}
    words = ["CREATE", "OR REPLACE" if plan.replace() else "", "GLOBAL" if getattr(plan, "global")() else ""]
    of_table = {k: v for k, v in options.items() if k.lower() not in LOCATORS}
    given = ", ".join(f"{quoted_text(k)} = {quoted_text(v)}" for k, v in of_table.items())
    more = f" WITH ({given})" if given else ""
    return f"{' '.join(words)} TEMPORARY VIEW {quoted_name(name)} AS SELECT * FROM {table_name(options, None)}{more}"
