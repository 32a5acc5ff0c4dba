"""Updates that make a table at a server with Iceberg's REST API equal to written metadata. Both have the same ids of
columns and snapshots. Schemas have the same numbers at the server as with Java's connector, because both engines may
take turns: each distinct schema has one number, from 1 on. 0 is the schema without columns that Java creates tables
with. Pure functions of JSON. Source: Iceberg's specification, "Table Metadata", and its REST API, "commitTable";
`IcebergRestMetadataCommitter` of Paimon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paimon_core.dataclass import dataclass

Node = dict[str, Any]
_MAIN = "main"
_IDENTITY = "paimon-commit-identity"
_OF_FIELDS = ("id", "name", "required", "doc")
_OF_TYPES = ("type", "element-id", "element-required", "key-id", "value-id", "value-required")
_NESTED = ("element", "key", "value")


def registered(here: Mapping[str, Any]) -> Node:
    """Return metadata in the form in which a server first registers it."""
    known: list[tuple[int, Any]] = [(0, None)]
    added = [{"type": "struct", "schema-id": 0, "fields": []}]
    numbers = _numbered(known, here, added)
    return {
        **here,
        "schemas": added,
        "current-schema-id": numbers[here["current-schema-id"]],
        "snapshots": [_renumbered(s, numbers) for s in here["snapshots"]],
    }


@dataclass(frozen=True, slots=True)
class TableUpdate:
    """A request to commit: conditions on the table at the server, and changes to it."""

    requirements: tuple[Node, ...]
    updates: tuple[Node, ...]


def update_of(there: Mapping[str, Any], here: Mapping[str, Any]) -> TableUpdate | None:
    """Return the update that makes a server's metadata (`there`) equal to ours (`here`). It is empty if both are equal.

    Return None if ours does not continue the server's: after a rollback, or if another table has the name by now."""
    current = _current(there)
    if current is None or there["table-uuid"] != here["table-uuid"] or not _is_same_layout(there, here):
        return None
    known, wanted = _by_identity(there["snapshots"]), _by_identity(here["snapshots"])
    if _key(current) not in wanted or current["snapshot-id"] > here["current-snapshot-id"]:
        return None
    if any(key not in known for key in wanted if key[0] <= current["snapshot-id"]):
        return None  # sequence numbers only go up
    updates: list[Node] = []
    new = [s for key, s in sorted(wanted.items(), key=lambda item: item[0][0]) if key not in known]
    numbers = _add_schemas(updates, there, here)
    updates += [{"action": "add-snapshot", "snapshot": _renumbered(snapshot, numbers)} for snapshot in new]
    _set_refs(updates, there, here)
    before = there.get("properties") or {}
    changed = {k: v for k, v in here["properties"].items() if before.get(k) != v}
    if changed:
        updates.append({"action": "set-properties", "updates": changed})
    gone = sorted(s["snapshot-id"] for key, s in known.items() if key not in wanted)
    if gone:
        updates.append({"action": "remove-snapshots", "snapshot-ids": gone})
    requirements = (
        {"type": "assert-table-uuid", "uuid": there["table-uuid"]},
        {"type": "assert-ref-snapshot-id", "ref": _MAIN, "snapshot-id": current["snapshot-id"]},
    )
    return TableUpdate(requirements, tuple(updates))


def _current(node: Mapping[str, Any]) -> Node | None:
    number = node.get("current-snapshot-id")
    return next((s for s in node.get("snapshots") or () if s["snapshot-id"] == number), None)


def _key(snapshot: Mapping[str, Any]) -> tuple[int, str | None]:
    return snapshot["snapshot-id"], (snapshot.get("summary") or {}).get(_IDENTITY)


def _by_identity(snapshots: Sequence[Node]) -> dict[tuple[int, str | None], Node]:
    return {_key(s): s for s in snapshots}


def _is_same_layout(there: Mapping[str, Any], here: Mapping[str, Any]) -> bool:
    """Return whether both tables have the same partitioning and the same version of the format."""
    specs = [
        next(
            [(f["source-id"], f["field-id"], f["transform"], f["name"]) for f in spec["fields"]]
            for spec in node["partition-specs"]
            if spec["spec-id"] == node["default-spec-id"]
        )
        for node in (there, here)
    ]
    return specs[0] == specs[1] and there["format-version"] == here["format-version"]


def _add_schemas(updates: list[Node], there: Mapping[str, Any], here: Mapping[str, Any]) -> dict[int, int]:
    """Add the missing schemas at the server, and set the current schema.

    Return the server's numbers of our schemas, by ours.
    """
    added: list[Node] = []
    numbers = _numbered([(s["schema-id"], _shape(s)) for s in there["schemas"]], here, added)
    updates += [{"action": "add-schema", "schema": s, "last-column-id": here["last-column-id"]} for s in added]
    if numbers[here["current-schema-id"]] != there["current-schema-id"]:
        updates.append({"action": "set-current-schema", "schema-id": numbers[here["current-schema-id"]]})
    return numbers


def _numbered(known: list[tuple[int, Any]], here: Mapping[str, Any], added: list[Node]) -> dict[int, int]:
    """Return a server's numbers for our schemas. Schemas that the server does not have are appended to `added`."""
    numbers: dict[int, int] = {}
    for schema in here["schemas"]:
        shape = _shape(schema)
        found = next((n for n, s in known if s == shape), None)
        if found is None:
            found = max(n for n, _ in known) + 1
            known.append((found, shape))
            added.append({**schema, "schema-id": found})
        numbers[schema["schema-id"]] = found
    return numbers


def _renumbered(snapshot: Node, numbers: Mapping[int, int]) -> Node:
    """Return a snapshot with the server's number of its schema, or without a number if Iceberg lacks a type of the
    schema.
    """
    named = {k: v for k, v in snapshot.items() if k != "schema-id"}
    number = numbers.get(snapshot.get("schema-id", -1))
    return named if number is None else {**named, "schema-id": number}


def _set_refs(updates: list[Node], there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    before, after = there.get("refs") or {}, here["refs"]
    for name, ref in after.items():
        old = before.get(name) or {}
        if any(old.get(key) != ref[key] for key in ("snapshot-id", "type")):
            updates.append({"action": "set-snapshot-ref", "ref-name": name, **ref})
    updates += [{"action": "remove-snapshot-ref", "ref-name": name} for name in before if name not in after]


def _shape(node: Any) -> Any:
    """Return the parts of a schema or type that distinguish it from others."""
    if isinstance(node, str):
        return "".join(node.split())
    fields = tuple(
        (*(field.get(key) for key in _OF_FIELDS), _shape(field["type"])) for field in node.get("fields") or ()
    )
    own = tuple(node.get(key) for key in _OF_TYPES)
    return (own, fields, *(_shape(node[key]) if key in node else None for key in _NESTED))
