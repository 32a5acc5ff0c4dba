"""What a server of Iceberg's is asked to change, by the metadata that it has and that it is to have."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from paimon_sql.catalog.rest.iceberg_updates import registered, update_of

Node = dict[str, Any]


def snapshot(number: int, schema: int = 0, identity: str | None = None) -> Node:
    summary = {"operation": "append", "paimon-commit-identity": identity or f"commit-{number}"}
    return {"snapshot-id": number, "sequence-number": number, "schema-id": schema, "summary": summary}


def column(name: str, kind: Any = "int", identity: int = 0, **more: Any) -> Node:
    return {"id": identity, "name": name, "required": False, "type": kind, **more}


def metadata(*numbers: int, **more: Any) -> Node:
    return {
        "format-version": 2,
        "table-uuid": "u",
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [column("k")]}],
        "current-schema-id": 0,
        "last-column-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-spec-id": 0,
        "snapshots": [snapshot(n) for n in numbers],
        "current-snapshot-id": numbers[-1] if numbers else None,
        "refs": {"main": {"snapshot-id": numbers[-1], "type": "branch"}} if numbers else {},
        "properties": {},
        **more,
    }


def actions(there: Node, here: Node) -> list[Node]:
    found = update_of(there, here)
    assert found is not None
    return list(found.updates)


def test_what_is_equal_needs_nothing() -> None:
    there = metadata(1, 2)
    there["schemas"][0]["identifier-field-ids"] = []  # as servers write it
    assert actions(there, metadata(1, 2)) == []


def test_new_snapshots_come_and_old_ones_go() -> None:
    found = update_of(metadata(1, 2), metadata(2, 3, 4))
    assert found is not None
    assert [u["action"] for u in found.updates] == [
        "add-snapshot",
        "add-snapshot",
        "set-snapshot-ref",
        "remove-snapshots",
    ]
    assert [u["snapshot"]["snapshot-id"] for u in found.updates[:2]] == [3, 4]
    assert found.updates[2:] == (
        {"action": "set-snapshot-ref", "ref-name": "main", "snapshot-id": 4, "type": "branch"},
        {"action": "remove-snapshots", "snapshot-ids": [1]},
    )
    assert found.requirements == (
        {"type": "assert-table-uuid", "uuid": "u"},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 2},
    )


def test_properties_of_ours_are_set_and_others_left() -> None:
    there, here = metadata(1, properties={"theirs": "1", "ours": "1"}), metadata(1, properties={"ours": "2"})
    assert actions(there, here) == [{"action": "set-properties", "updates": {"ours": "2"}}]


def test_tags_come_move_and_go() -> None:
    there, here = metadata(1, 2), metadata(1, 2)
    there["refs"] |= {"gone": {"snapshot-id": 1, "type": "tag"}, "moved": {"snapshot-id": 1, "type": "tag"}}
    there["refs"]["main"]["max-ref-age-ms"] = 7
    here["refs"] |= {"new": {"snapshot-id": 2, "type": "tag"}, "moved": {"snapshot-id": 2, "type": "tag"}}
    assert [(u["action"], u["ref-name"]) for u in actions(there, here)] == [
        ("set-snapshot-ref", "new"),
        ("set-snapshot-ref", "moved"),
        ("remove-snapshot-ref", "gone"),
    ]


def test_schemas_are_registered_with_the_numbers_that_java_gives_them() -> None:
    here = metadata(1, 2)
    here["schemas"] += [{"type": "struct", "schema-id": n, "fields": [column(c)]} for n, c in ((1, "k"), (2, "x"))]
    here["current-schema-id"], here["snapshots"][1]["schema-id"] = 2, 7
    made = registered(here)
    assert [(s["schema-id"], [f["name"] for f in s["fields"]]) for s in made["schemas"]] == [
        (0, []),
        (1, ["k"]),
        (2, ["x"]),
    ]
    assert made["current-schema-id"] == 2 and [s.get("schema-id") for s in made["snapshots"]] == [1, None]
    assert actions(made, here) == []


def test_schemas_have_the_numbers_of_the_server() -> None:
    """Two with the same columns are one there."""
    there = metadata(1)
    there["schemas"].append({"type": "struct", "schema-id": 3, "fields": [column("theirs")]})
    here = metadata(1, 2)
    same, new = ({"type": "struct", "schema-id": n, "fields": [column(c)]} for n, c in enumerate("kx", 1))
    here["schemas"] += [same, new]
    here["current-schema-id"] = 2
    here["snapshots"][1]["schema-id"] = 1
    added, current, snapshot_added, _ = actions(there, here)
    assert added == {"action": "add-schema", "schema": {**new, "schema-id": 4}, "last-column-id": 0}
    assert current == {"action": "set-current-schema", "schema-id": 4}
    assert snapshot_added["snapshot"]["schema-id"] == 0
    assert here["snapshots"][1]["schema-id"] == 1, "what was read is not changed"


LIST = {"type": "list", "element-id": 1, "element": "int", "element-required": True}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (column("k"), column("k", doc="the key")),
        (column("k"), column("k", "long")),
        (column("k"), {**column("k"), "required": True}),
        (column("k", LIST), column("k", {**LIST, "element": "long"})),
        [column("k", {"type": "struct", "fields": [column(name)]}) for name in "ab"],
    ],
)
def test_schemas_that_differ(left: Node, right: Node) -> None:
    there, here = metadata(1), metadata(1)
    there["schemas"][0]["fields"], here["schemas"][0]["fields"] = [left], [right]
    assert [u["action"] for u in actions(there, here)] == ["add-schema", "set-current-schema"]
    here["schemas"][0]["fields"] = copy.deepcopy([left])
    assert actions(there, here) == []


def test_decimals_are_spelled_in_several_ways() -> None:
    there, here = metadata(1), metadata(1)
    there["schemas"][0]["fields"], here["schemas"][0]["fields"] = (
        [column("k", "decimal(9,2)")],
        [column("k", "decimal(9, 2)")],
    )
    assert actions(there, here) == []


@pytest.mark.parametrize(
    "there",
    [
        metadata(),
        metadata(1, 2, **{"table-uuid": "another"}),
        metadata(1, 2, 3),  # rolled back since
        metadata(1, 2, snapshots=[snapshot(1), snapshot(2, identity="of a history that was rolled back")]),
        metadata(2),  # 1 cannot be added any more
        metadata(1, 2, **{"partition-specs": [{"spec-id": 0, "fields": [
            {"source-id": 1, "field-id": 1000, "transform": "identity", "name": "p"}]}]}),
        metadata(1, 2, **{"format-version": 3}),
    ],
)  # fmt: skip
def test_what_it_does_not_go_on_from(there: Node) -> None:
    assert update_of(there, metadata(1, 2)) is None
