"""The schemas of a table, each with the changes that it made to the schema before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from paimon_core.dataclass import dataclass
from paimon_core.secrets import redacted
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField
from paimon_core.store.features import check_selectable
from paimon_core.store.schemas import list_schemas
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables.text import local_time


@dataclass(frozen=True, slots=True)
class SchemaStep:
    """A schema: its id, the time of its creation in the session's zone, and its changes; the first one has none."""

    id: int
    time: datetime
    changes: tuple[str, ...]


def schema_history(store: TableStore) -> tuple[SchemaStep, ...]:
    """Return the steps from the first schema to the latest. Values of options that are secrets are hidden.

    Raises the errors of `check_selectable`, and `CorruptFileError`, `StorageError`.
    """
    check_selectable(store)
    steps, before = [], None
    for schema in list_schemas(store):
        changes = () if before is None else tuple(_changes(before, schema))
        steps.append(SchemaStep(schema.id, local_time(schema.time_millis, store.zone), changes))
        before = schema
    return tuple(steps)


def _changes(before: TableSchema, after: TableSchema) -> Iterator[str]:
    old, new = ({f.id: f for f in s.fields} for s in (before, after))
    yield from (f"add column {f.name} {f.type.sql()}" for f in after.fields if f.id not in old)
    yield from (f"drop column {f.name}" for f in before.fields if f.id not in new)
    for field in after.fields:
        if field.id in old:
            yield from _column_changes(old[field.id], field)
    common = [f.id for f in before.fields if f.id in new]
    if common != [f.id for f in after.fields if f.id in old]:
        yield "move columns: " + ", ".join(f.name for f in after.fields)
    yield from _option_changes(redacted(before.options), redacted(after.options))
    if before.comment != after.comment:
        yield f"comment {after.comment!r}" if after.comment else "remove the comment"


def _column_changes(before: DataField, after: DataField) -> Iterator[str]:
    if before.name != after.name:
        yield f"rename column {before.name} to {after.name}"
    if before.type != after.type:
        yield f"change type of {after.name} from {_type(before)} to {_type(after)}"
    if before.description != after.description:
        yield f"comment of {after.name}: {after.description!r}" if after.description else f"no comment of {after.name}"
    if before.default != after.default:
        yield f"default of {after.name}: {after.default!r}"


def _type(field: DataField) -> str:
    return field.type.sql() + ("" if field.type.nullable else " NOT NULL")


def _option_changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for key in sorted({*before, *after}):
        if key not in after:
            yield f"unset '{key}'"
        elif before.get(key) != after[key]:
            yield f"set '{key}' = '{after[key]}'"
