"""The parts of values that a query uses, of VARIANTs and of MAPs. They are by field id, as columns have other names in
older files.

`variant_get(v, '$.a.b', …)` needs the keys a and b of a VARIANT. Spark lists what the operators on a scan extract. A
VARIANT that they use as a whole has the path `$`, and is read as a whole.

`m['k']` needs the values of the key k of a MAP. A rule of Spark's optimizer finds the keys, once the plan is final. A
scan returns MAPs of these keys alone, which saves reading if files have a column per key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from paimon_core.formats.shared_maps import is_shared
from paimon_core.options import TableOptions
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField, Kind

VariantPaths = Mapping[int, tuple[tuple[str, ...], ...]]
MapKeys = Mapping[int, tuple[str, ...]]
_DEFAULT_FUNCTION = "fields.default-aggregate-function"
# One key of a path: .name, ['name'] or ["name"]; an index of an array ends the keys.
_KEY = re.compile(r"\.([^.\[]+)|\['([^']*)'\]|\[\"([^\"]*)\"\]")


def variant_paths(extractions: Iterable[tuple[tuple[str, ...], str]], fields: Mapping[str, DataField]) -> VariantPaths:
    """Return the keys that are needed of each VARIANT column, without the columns that are needed as a whole."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for (name, *nested), path in extractions:
        found.setdefault(name, set()).add(() if nested else keys_of(path))
    kept = {fields[n].id: paths for n, paths in found.items() if n in fields and fields[n].type.kind is Kind.VARIANT}
    return {number: tuple(sorted(paths)) for number, paths in kept.items() if () not in paths}


def keys_of(path: str) -> tuple[str, ...]:
    """Return the keys at the beginning of a path; () for the whole value."""
    rest, keys = path.removeprefix("$"), list[str]()
    while match := _KEY.match(rest):
        keys.append(next(g for g in match.groups() if g is not None))
        rest = rest[match.end() :]
    return tuple(keys)


def shown_paths(paths: VariantPaths, fields: Iterable[DataField]) -> str:
    """Return the paths for EXPLAIN, with the names of the columns. Different paths have different texts: keys are
    quoted unless they have only letters, digits and underscores.
    """
    names = {f.id: f.name for f in fields}
    whole = ((names[number], *path) for number, found in paths.items() for path in found)
    return ", ".join(".".join(key if re.fullmatch(r"\w+", key) else json.dumps(key) for key in path) for path in whole)


def map_keys(used: str, schema: TableSchema, options: TableOptions) -> MapKeys:
    """Return the keys to read by field id, of those that a query uses: JSON, by column. Columns that files may not have
    in parts are left out, and columns with an aggregate function.
    """
    fields = schema.field_by_name
    found: dict[str, list[str]] = json.loads(used)
    kept = {name: keys for name, keys in found.items() if name in fields and _is_selected(fields[name], options)}
    return {fields[name].id: tuple(sorted(keys)) for name, keys in kept.items()}


def _is_selected(field: DataField, options: TableOptions) -> bool:
    functions = _DEFAULT_FUNCTION, f"fields.{field.name}.aggregate-function"
    return is_shared(field, options) and not any(key in options.values for key in functions)


def shown_keys(keys: MapKeys, fields: Iterable[DataField]) -> str:
    """Return the keys for EXPLAIN, with the names of the columns. Different keys have different texts."""
    names = {f.id: f.name for f in fields}
    return ", ".join(f"{names[number]}[{', '.join(map(_quoted, of))}]" for number, of in keys.items())


def _quoted(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)
