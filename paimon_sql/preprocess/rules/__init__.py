"""One module per spelling: a pattern for the statements that may have it, and their rewriting. Both lists are in the
order of use.

`column_list`, `column_types` and `type_nodes` read columns and types for several rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.rules.alter_columns import ALTER_COLUMNS
from paimon_sql.preprocess.rules.catalogs import CATALOGS
from paimon_sql.preprocess.rules.checks import ADDED_CHECK, ADDED_GENERATED, NOT_ENFORCED
from paimon_sql.preprocess.rules.column_changes import COLUMN_CHANGES
from paimon_sql.preprocess.rules.constructors import CONSTRUCTORS, INSERTED_CONSTRUCTORS
from paimon_sql.preprocess.rules.copy_into import COPY_INTO
from paimon_sql.preprocess.rules.create_table import COMPUTED_COLUMNS, CREATE_TABLE
from paimon_sql.preprocess.rules.dynamic_options import DYNAMIC_OPTIONS
from paimon_sql.preprocess.rules.materialized_tables import MATERIALIZED
from paimon_sql.preprocess.rules.properties import ALTER_PROPERTIES, DATABASE_PROPERTIES
from paimon_sql.preprocess.rules.rule import Rule
from paimon_sql.preprocess.rules.session import CONFIGURATION, SHOW_CREATE_VIEW, USE_CATALOG
from paimon_sql.preprocess.rules.system_tables import NAMES_BY_EXPRESSIONS, SYSTEM_TABLES, TABLES_OF_PATHS
from paimon_sql.preprocess.rules.table_functions import TABLE_FUNCTIONS
from paimon_sql.preprocess.rules.tags import SHOW_TAGS, TAGS
from paimon_sql.preprocess.rules.unnest import UNNEST
from paimon_sql.preprocess.rules.vector_search import VECTOR_SEARCH
from paimon_sql.preprocess.statements import Value

# rules that return the value of a statement, or None; the first value is used
VALUES: tuple[Rule[Value | None], ...] = (CATALOGS, COPY_INTO, TAGS, ADDED_CHECK, COLUMN_CHANGES, MATERIALIZED)
# rules that return edits; a statement may match several
EDITS: tuple[Rule[Sequence[Edit]], ...] = (
    CREATE_TABLE,
    NOT_ENFORCED,
    ADDED_GENERATED,
    COMPUTED_COLUMNS,
    ALTER_COLUMNS,
    ALTER_PROPERTIES,
    DATABASE_PROPERTIES,
    CONFIGURATION,
    USE_CATALOG,
    SHOW_CREATE_VIEW,
    SHOW_TAGS,
    DYNAMIC_OPTIONS,
    CONSTRUCTORS,
    INSERTED_CONSTRUCTORS,
    SYSTEM_TABLES,
    NAMES_BY_EXPRESSIONS,
    TABLES_OF_PATHS,
    TABLE_FUNCTIONS,
    VECTOR_SEARCH,
    UNNEST,
)
