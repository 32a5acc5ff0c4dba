"""Changes of the table's schema, beside everything else."""

from __future__ import annotations

from paimon_core.spec.types import BIGINT
from paimon_core.store.ddl.schema_changes import AddColumn, DropColumn, SetOption
from tests.simulation.statements import Session, T, added_columns
from tests.simulation.steps.registry import some, step

_HARMLESS = (
    ("file.format", "orc"),
    ("file.format", "avro"),
    ("file.format", "parquet"),
    ("write-only", "true"),
    ("write-only", "false"),
    ("snapshot.num-retained.max", "3"),
    ("snapshot.num-retained.max", "100"),
    ("target-file-size", "1 kb"),
)


@step("add column", weight=1)
def add_column(session: Session) -> None:
    session.catalog.alter_table(T, [AddColumn((f"x{session.step.number}",), BIGINT)])


@step("drop column", weight=0.5)
def drop_column(session: Session) -> None:
    session.catalog.alter_table(T, [DropColumn((some(session, list(added_columns(session.table()))),))])


@step("set option", weight=1)
def set_option(session: Session) -> None:
    key, value = session.dice.choice(_HARMLESS)
    changes = [SetOption(key, value)]
    if key == "snapshot.num-retained.max":
        changes.append(SetOption("snapshot.num-retained.min", "1"))
    session.catalog.alter_table(T, changes)
