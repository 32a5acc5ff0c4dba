"""Options of a table that contradict one another.

CREATE TABLE and ALTER TABLE refuse such options. A table can have them all the same, because other engines check less,
and so do other versions. Then each further change of the table's definition is refused until an option is removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, InvalidSchemaError, UnsupportedFeatureError
from paimon_core.options.option import Change
from paimon_core.options.support import OPTIONS
from paimon_core.spec.schema import TableSchema
from paimon_core.store.ddl.new_schema import check_schema

_QUOTED = re.compile(r"'([^']+)'")


@dataclass(frozen=True, slots=True)
class Contradiction:
    """The reason to refuse the options of a table, and the options to remove together, so that the rest is accepted."""

    reason: str
    keys: tuple[str, ...]


def contradiction_of(schema: TableSchema) -> Contradiction | None:
    """Return the first contradiction among options that ALTER TABLE can remove, None if there is none."""
    first = reason = _refused(schema)
    removed = list[str]()
    while reason is not None:
        found = {key: _refused(_without(schema, key)) for key in _removable(schema, reason)}
        others = {key: why for key, why in found.items() if why != reason}
        if not others:
            return None
        # prefer an option that resolves all contradictions, else one that resolves this one
        key = min(others, key=lambda k: others[k] is not None)
        removed.append(key)
        schema, reason = _without(schema, key), others[key]
    return None if first is None else Contradiction(first, tuple(removed))


def _without(schema: TableSchema, key: str) -> TableSchema:
    return replace(schema, options={k: v for k, v in schema.options.items() if k != key})


def _refused(schema: TableSchema) -> str | None:
    """Return why options are refused. What is wrong with columns or not supported here is another matter."""
    try:
        check_schema(schema, schema)
    except InvalidOptionError as error:
        return str(error)
    except (InvalidSchemaError, UnsupportedFeatureError):
        return None
    return None


def _removable(schema: TableSchema, reason: str) -> Iterator[str]:
    known = {key: o for o in OPTIONS.values() for key in (o.key, *o.aliases)}
    for key in dict.fromkeys(_QUOTED.findall(reason)):
        if key in schema.options and key in known and known[key].change is Change.FREE:
            yield key
