"""`CREATE TEMPORARY VIEW v USING paimon OPTIONS (path '/folder/table')`: Spark would look for a class named `paimon`,
so the view is made from a query of the table instead."""

from __future__ import annotations

from paimon_core.errors import InvalidOptionError
from paimon_sql.preprocess.quoting import quoted_name, quoted_text
from paimon_sql.spark.jvm.plans import TemporaryView
from paimon_sql.spark.tables.definitions import PROVIDER
from paimon_sql.spark.tables.path_names import table_name
from paimon_sql.spark.tables.session_catalogs import LOCATORS


def view_of_path(view: TemporaryView) -> str | None:
    """The statement that makes a temporary view of the Paimon table that its options name; None for other providers.

    Raises `InvalidOptionError` if the options do not name exactly one table.
    """
    if view.provider.lower() != PROVIDER:
        return None
    if view.has_columns:
        raise InvalidOptionError(f"View {view.view} USING {PROVIDER} has the columns of its table: leave them out.")
    words = ["CREATE", "OR REPLACE" if view.replaces else "", "GLOBAL" if view.is_global else ""]
    of_table = {k: v for k, v in view.options.items() if k.lower() not in LOCATORS}
    given = ", ".join(f"{quoted_text(k)} = {quoted_text(v)}" for k, v in of_table.items())
    more = f" WITH ({given})" if given else ""
    table = table_name(view.options, None)
    return f"{' '.join(words)} TEMPORARY VIEW {quoted_name(view.view)} AS SELECT * FROM {table}{more}"  # noqa: S608  quoted
