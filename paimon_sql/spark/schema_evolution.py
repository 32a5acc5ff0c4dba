"""`write.merge-schema`: INSERT BY NAME adds the columns that a table does not have.

Spark does this itself for tables that say which changes they take, where a statement asks for it (WITH SCHEMA
EVOLUTION). The option asks in the statement's stead.
"""

from __future__ import annotations

from typing import Any

from paimon_core.options import MERGE_SCHEMA, MERGE_SCHEMA_EXPLICIT_CAST, MERGE_SCHEMA_TYPE_WIDENING
from paimon_core.spec.casts import can_cast
from paimon_core.spec.types import DataField, DataType, DecimalType, LengthType, RowType, TimeType
from paimon_core.store.nested_columns import find_field
from paimon_core.store.schema_changes import AddColumn, UpdateColumnType
from paimon_core.store.table_store import TableStore
from paimon_sql.spark.jvm import Jvm
from paimon_sql.spark.table_changes import schema_change

INSERT = "InsertIntoStatement"
NESTED_COERCION = "spark.sql.insertNestedTypeCoercion.enabled"
_ASKED_FOR = "withSchemaEvolution"


def asking_for_evolution(jvm: Jvm, insert: Any) -> Any:
    """A parsed INSERT BY NAME that evolves its table; any other as it is."""
    if not insert.byName():
        return insert
    arguments = [
        True if str(insert.productElementName(i)) == _ASKED_FOR else insert.productElement(i)
        for i in range(insert.productArity())
    ]
    return insert.makeCopy(jvm.array("java.lang.Object", arguments))


def takes_change(store: TableStore, change: Any) -> bool:
    """Whether a table takes a Java `TableChange` while it is written; what it does not take, Spark casts."""
    wanted = schema_change(change)
    if isinstance(wanted, AddColumn):
        return True
    if not isinstance(wanted, UpdateColumnType):
        return False
    if store.options[MERGE_SCHEMA] and not store.options[MERGE_SCHEMA_TYPE_WIDENING]:
        return False
    found = find_field(store.schema.fields, wanted.path)
    return found is not None and _widens(found, wanted.type, explicit=store.options[MERGE_SCHEMA_EXPLICIT_CAST])


def _widens(field: DataField, new: DataType, *, explicit: bool) -> bool:
    old = field.type
    if isinstance(old, RowType) or not can_cast(old, new, explicit=explicit):
        return False
    match old, new:
        case DecimalType(), DecimalType():
            return old.scale == new.scale and (explicit or old.precision < new.precision)
        case LengthType(), LengthType():
            return explicit or old.length <= new.length
        case TimeType(), TimeType():
            return explicit or old.precision <= new.precision
    return True
