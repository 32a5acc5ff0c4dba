"""Filters on generated columns that follow from a query's filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import Predicate, conjunction
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import READ_GENERATED_PRUNE
from paimon_core.store.ddl.generated_columns import generated_of
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.expressions.derived import derived, made_by
else:
    derived = ImportedOnCall("paimon_core.expressions.derived", "derived")
    made_by = ImportedOnCall("paimon_core.expressions.derived", "made_by")


def with_generated(store: TableStore, predicate: Predicate | None) -> Predicate | None:
    """Return a predicate with the filters on generated columns that follow from it."""
    more = derived_filter(store, predicate)
    return predicate if predicate is None or more is None else conjunction((predicate, more))


def derived_filter(store: TableStore, predicate: Predicate | None) -> Predicate | None:
    """Return the filters on generated columns that follow from a predicate, or None."""
    if predicate is None or not store.options[READ_GENERATED_PRUNE]:
        return None
    try:
        columns = generated_of(store.schema.options)
    except UnsupportedFeatureError:  # a newer version wrote it: writes raise the error
        return None
    fields = store.schema.field_by_name
    known = (made_by(fields[c.name], c.expression, fields.values(), c.offset) for c in columns if c.name in fields)
    made = [m for m in known if m is not None]
    return derived(predicate, made) if made else None
