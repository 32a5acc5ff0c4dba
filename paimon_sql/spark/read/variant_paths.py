"""The parts of VARIANTs that a query extracts: `variant_get(v, '$.a.b', …)` needs the keys a and b.

Spark lists what the operators on a scan extract. A VARIANT that they use as a whole has the path `$`, and is read as a
whole. The parts are by field id, as columns have other names in older files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from paimon_core.spec.types import DataField, Kind

VariantPaths = Mapping[int, tuple[tuple[str, ...], ...]]
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
