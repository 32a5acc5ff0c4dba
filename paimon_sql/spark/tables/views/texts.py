"""The output of SHOW TABLE EXTENDED for a view, and of DESCRIBE, SHOW CREATE TABLE and SHOW TBLPROPERTIES.

The last three are for Spark before 4.2, and have the text of Spark 4.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from paimon_sql.preprocess.quoting import quoted_name, quoted_text
from paimon_sql.spark.jvm.views import ViewDefinition
from paimon_sql.spark.types import read_struct

_PLAIN = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_NO_PROPERTIES = ("comment", "owner", "collation", "provider", "location")
Name = tuple[str, str, str]  # catalog, database, view


def described(name: Name, view: ViewDefinition, *, extended: bool) -> list[tuple[str, str, str | None]]:
    """Return the rows of DESCRIBE: each column's name, type and comment, and with EXTENDED the view's properties."""
    rows: list[tuple[str, str, str | None]] = [
        (f.name, f.dataType.simpleString(), f.metadata.get("comment")) for f in read_struct(view.schema_json).fields
    ]
    if not extended:
        return rows
    catalog, database, view_name = name
    about = {
        "Catalog": catalog,
        "Namespace": _spelled([database]),
        "Database": database,
        "View": view_name,
        "Type": "VIEW",
        "Owner": view.properties.get("owner"),
        "Comment": view.properties.get("comment"),
        "View Text": view.query,
        "View Current Catalog": view.catalog,
        "View Current Namespace": _spelled(view.namespace),
        "View Schema Mode": view.schema_mode,
        "View Query Output Columns": f"[{', '.join(view.query_columns)}]",
        "Properties": f"[{', '.join(f'{k}={v}' for k, v in sorted(shown_properties(view).items()))}]",
    }
    rows += [("", "", ""), ("# Detailed View Information", "", "")]
    return rows + [(key, value, "") for key, value in about.items() if value is not None]


def information(name: Name, view: ViewDefinition) -> str:
    """Return the output of SHOW TABLE EXTENDED for a view: a line for each property, then its columns as a tree."""
    catalog, database, view_name = name
    about = {
        "Catalog": catalog,
        "Namespace": _spelled([database]),
        "Table": view_name,
        "Type": "VIEW",
        "Owner": view.properties.get("owner"),
        "Comment": view.properties.get("comment"),
        "View Text": view.query,
    }
    lines = [f"{key}: {value}" for key, value in about.items() if value is not None]
    return "\n".join([*lines, f"Schema: {read_struct(view.schema_json).treeString()}\n"])


def create_statement(name: Name, view: ViewDefinition) -> str:
    """Return the statement that creates the view again."""
    columns = [
        _name(f.name) + (f" COMMENT {quoted_text(c)}" if (c := f.metadata.get("comment")) else "")
        for f in read_struct(view.schema_json).fields
    ]
    parts = [f"CREATE VIEW {_spelled(name)} (\n  {_lines(columns)})\n"]
    if comment := view.properties.get("comment"):
        parts.append(f"COMMENT {quoted_text(comment)}\n")
    if shown := sorted(shown_properties(view).items()):
        parts.append(f"TBLPROPERTIES (\n  {_lines(f'{quoted_text(k)} = {quoted_text(v)}' for k, v in shown)})\n")
    return "".join([*parts, f"WITH SCHEMA {view.schema_mode}\n", f"AS {view.query}\n"])


def shown_properties(view: ViewDefinition) -> dict[str, str]:
    """Return the properties that users have given a view."""
    return {k: v for k, v in view.properties.items() if k not in _NO_PROPERTIES}


def _spelled(parts: Iterable[str]) -> str:
    return ".".join(map(_name, parts))


def _name(part: str) -> str:
    return part if _PLAIN.fullmatch(part) else quoted_name(part)


def _lines(items: Iterable[str]) -> str:
    return ",\n  ".join(items)
