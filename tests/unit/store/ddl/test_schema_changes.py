"""Schema changes against a model: a table is a list of named columns, each with a value of its own that stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.errors import InvalidOptionError, InvalidSchemaError, PaimonError
from paimon_core.spec.schema import TableSchema, decode_schema, encode_schema, highest_field_id
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    CollectionType,
    DataField,
    Kind,
    MapType,
    RowType,
    nested_fields,
)
from paimon_core.store.ddl.nested_columns import ColumnPosition
from paimon_core.store.ddl.new_schema import new_table_schema, replacing_schema, same_partitions
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
    apply_changes,
)
from tests.support.examples import examples
from tests.support.tables import fields

NAMES = ("a", "b", "c", "d", "e")
ROW = RowType(fields=(DataField(id=0, name="x", type=INT), DataField(id=0, name="y", type=STRING)))


def table(**options: str) -> TableSchema:
    """k, p, n INT and s ROW<x, y>; l an array, m a map of such rows."""
    columns = fields(
        k=INT, p=INT, n=INT, s=ROW, l=CollectionType(Kind.ARRAY, element=ROW), m=MapType(key=STRING, value=ROW)
    )
    return new_table_schema(columns, options={k.replace("_", "-"): v for k, v in options.items()})


KEYED = {"primary_key": "k,p", "partition": "p", "bucket": "2"}


def changed(schema: TableSchema, *changes: SchemaChange, **more: Any) -> TableSchema:
    return apply_changes(schema, changes, 7, **more)


def columns(schema: TableSchema) -> list[str]:
    return [f.name for f in schema.fields]


def at(schema: TableSchema, *path: str) -> DataField:
    """The field that a path of struct fields leads to."""
    found, row = schema.field_by_name[path[0]], None
    for step in path[1:]:
        row = found.type
        if isinstance(row, CollectionType):
            row = row.element
        if isinstance(row, MapType):
            row = row.value
        assert isinstance(row, RowType)
        found = next(f for f in row.fields if f.name == step)
    return found


names = st.sampled_from(NAMES)
positions = (
    st.none()
    | st.builds(ColumnPosition, st.sampled_from(["first", "last"]))
    | st.builds(ColumnPosition, st.sampled_from(["before", "after"]), names)
)
changes = st.one_of(
    st.builds(lambda n, t, p: AddColumn((n,), t, None, p), names, st.sampled_from([INT, BIGINT, ROW]), positions),
    st.builds(lambda a, b: RenameColumn((a,), b), names, names),
    st.builds(lambda n: DropColumn((n,)), names),
    st.builds(lambda n, t: UpdateColumnType((n,), t), names, st.sampled_from([INT, BIGINT, DOUBLE, STRING])),
    st.builds(lambda n, p: UpdateColumnPosition((n,), p or ColumnPosition("first")), names, positions),
    st.builds(lambda n, c: UpdateColumnComment((n,), c), names, st.sampled_from([None, "c"])),
)


class Model:
    """Columns in order with what they mean: the number of the change that made them."""

    def __init__(self) -> None:
        self.columns: list[tuple[str, int]] = [("a", -1), ("b", -2)]

    def copy(self) -> Model:
        same = Model()
        same.columns = list(self.columns)
        return same

    def apply(self, number: int, change: SchemaChange) -> bool:
        """False where the change has to be refused."""
        known = [n for n, _ in self.columns]
        match change:
            case AddColumn((name,), _, _, position):
                return name not in known and self._insert((name, number), position or ColumnPosition("last"))
            case RenameColumn((old,), new):
                if old not in known or (new in known and new != old):
                    return False
                self.columns = [(new if n == old else n, v) for n, v in self.columns]
            case DropColumn((name,)):
                if name not in known or len(known) == 1:
                    return False
                self.columns = [c for c in self.columns if c[0] != name]
            case UpdateColumnPosition((name,), position):
                if name not in known or position.reference == name:
                    return False
                if position.reference is not None and position.reference not in known:
                    return False
                if position.side == "first" and known[0] == name:
                    return False
                column = self.columns.pop(known.index(name))
                return self._insert(column, position)
            case UpdateColumnType((name,), _) | UpdateColumnComment((name,), _):
                return name in known
        return True

    def _insert(self, column: tuple[str, int], position: ColumnPosition) -> bool:
        known = [n for n, _ in self.columns]
        if position.reference is not None and position.reference not in known:
            return False
        sides = {"first": 0, "last": len(known)}
        if position.reference is not None:
            sides |= {"before": known.index(position.reference), "after": known.index(position.reference) + 1}
        self.columns.insert(sides[position.side], column)
        return True


@settings(max_examples=examples(300))
@given(st.lists(changes, max_size=12))
def test_columns_keep_their_identity(sequence: list[SchemaChange]) -> None:
    schema, model = new_table_schema(fields(a=INT, b=INT)), Model()
    meaning = {f.id: -1 - i for i, f in enumerate(schema.fields)}
    given_ids = set(meaning)
    for number, change in enumerate(sequence):
        try:
            after = changed(schema, change)
        except PaimonError:
            if not isinstance(change, UpdateColumnType):
                assert not model.copy().apply(number, change)
            assert changed(schema, UpdateComment("still fine")).comment == "still fine"
            continue
        assert model.apply(number, change), change
        for field in after.fields:
            meaning.setdefault(field.id, number)
        assert [(f.name, meaning[f.id]) for f in after.fields] == model.columns
        every = [f.id for f in nested_fields(after.row_type)]
        assert len(set(every)) == len(every)
        new = set(every) - {f.id for f in nested_fields(schema.row_type)}
        assert not new & given_ids, "an id was given twice"
        given_ids |= set(every)
        assert after.highest_field_id >= max(given_ids)
        assert after is schema or (after.id, after.time_millis) == (schema.id + 1, 7)
        assert decode_schema("schema-n", encode_schema(after)) == after
        schema = after


def test_nothing_changes_nothing() -> None:
    schema = table()
    assert changed(schema) is schema
    assert changed(schema, UpdateColumnComment(("n",), None), RemoveOption("x")) is schema


def test_added_columns_go_where_they_are_told() -> None:
    schema = table(**KEYED)
    assert columns(changed(schema, AddColumn(("z",), INT)))[-1] == "z"
    assert columns(changed(schema, AddColumn(("z",), INT, None, ColumnPosition("first"))))[0] == "z"
    assert columns(changed(schema, AddColumn(("z",), INT, None, ColumnPosition("after", "k"))))[1] == "z"
    before = changed(schema, SetOption("add-column-before-partition", "true"), AddColumn(("z",), INT))
    assert columns(before)[1:3] == ["z", "p"]
    added = changed(schema, AddColumn(("z",), ROW, "new"))
    assert (at(added, "z").id, at(added, "z", "x").id, at(added, "z").description) == (12, 13, "new")
    assert added.highest_field_id == 14 == highest_field_id(added.fields)


def test_an_id_is_not_given_again() -> None:
    schema = changed(changed(table(), AddColumn(("z",), INT)), DropColumn(("z",)))
    assert at(changed(schema, AddColumn(("z",), INT)), "z").id == schema.highest_field_id + 1


@pytest.mark.parametrize("path", [("s",), ("l", "element"), ("m", "value")])
def test_nested_columns_change_alike(path: tuple[str, ...]) -> None:
    schema, root = table(), path[0]
    before = at(schema, root, "x").id
    after = changed(
        schema,
        AddColumn((*path, "z"), BIGINT, "c", ColumnPosition("first")),
        RenameColumn((*path, "x"), "w"),
        UpdateColumnType((*path, "w"), BIGINT),
        DropColumn((*path, "y")),
        UpdateColumnPosition((*path, "w"), ColumnPosition("first")),
    )
    inner = at(after, root).type
    row = inner.element if isinstance(inner, CollectionType) else inner.value if isinstance(inner, MapType) else inner
    assert isinstance(row, RowType)
    assert [(f.name, f.id, f.type) for f in row.fields] == [("w", before, BIGINT), ("z", 12, BIGINT)]
    with pytest.raises(InvalidSchemaError, match="only field of its struct"):
        changed(after, DropColumn((*path, "w")), DropColumn((*path, "z")))


def test_element_types_change() -> None:
    schema = new_table_schema(fields(a=CollectionType(Kind.ARRAY, element=INT), m=MapType(key=INT, value=INT)))
    after = changed(schema, UpdateColumnType(("a", "element"), BIGINT), UpdateColumnType(("m", "value"), STRING))
    assert [f.type.sql() for f in after.fields] == ["ARRAY<BIGINT>", "MAP<INT, STRING>"]
    for refused in (
        UpdateColumnType(("m", "key"), BIGINT),
        DropColumn(("a", "element")),
        RenameColumn(("m", "value"), "v"),
        AddColumn(("m", "other"), INT),
    ):
        with pytest.raises(InvalidSchemaError):
            changed(schema, refused)


REFUSED: list[tuple[SchemaChange, str]] = [
    (AddColumn(("z",), INT.with_nullable(False)), "NOT NULL"),
    (AddColumn(("n",), INT), "'n' already exists"),
    (AddColumn(("s", "x"), INT), "'s.x' already exists"),
    (AddColumn(("n", "x"), INT), "'n' of type INT has no field 'x'"),
    (AddColumn(("z",), INT, None, ColumnPosition("after", "nope")), "'nope'"),
    (DropColumn(("nope",)), "'nope'; the columns are k, p"),
    (DropColumn(("p",)), "partition key"),
    (DropColumn(("k",)), "primary key"),
    (RenameColumn(("p",), "q"), "partition key"),
    (RenameColumn(("n",), "k"), "'k' already exists"),
    (RenameColumn(("n",), "_KEY_n"), "_KEY_n"),
    (UpdateColumnType(("k",), BIGINT), "primary key"),
    (UpdateColumnType(("p",), BIGINT), "partition key"),
    (UpdateColumnType(("s",), STRING), "'s' of type ROW.* cannot become STRING"),
    (UpdateColumnType(("n",), CollectionType(Kind.ARRAY, element=INT)), "'n' of type INT cannot become ARRAY"),
    (UpdateColumnNullability(("n",), False), "alter-column-null-to-not-null.disabled"),
    (UpdateColumnNullability(("k",), True), "primary key"),
    (UpdateColumnPosition(("n",), ColumnPosition("after", "n")), "itself"),
    (UpdateColumnDefault(("n",), "current_date()"), "'n' .* default value current_date"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_is_refused_is_named(change: SchemaChange, message: str) -> None:
    with pytest.raises(InvalidSchemaError, match=message):
        changed(table(**KEYED), change)


def test_options_allow_and_refuse() -> None:
    schema = replace(table(), options={"alter-column-null-to-not-null.disabled": "false"})
    assert not at(changed(schema, UpdateColumnNullability(("n",), False)), "n").type.nullable
    strict = replace(schema, options={"disable-explicit-type-casting": "true"})
    assert at(changed(strict, UpdateColumnType(("n",), BIGINT)), "n").type == BIGINT
    with pytest.raises(InvalidSchemaError, match="disable-explicit-type-casting"):
        changed(strict, UpdateColumnType(("n",), BOOLEAN))
    assert at(changed(schema, UpdateColumnType(("n",), BOOLEAN)), "n").type == BOOLEAN


def test_a_type_keeps_its_nullability() -> None:
    schema = new_table_schema(fields(a=INT.with_nullable(False), b=INT))
    after = changed(schema, UpdateColumnType(("a",), BIGINT), UpdateColumnType(("b",), BIGINT.with_nullable(False)))
    assert [f.type.nullable for f in after.fields] == [False, True]


def test_a_renamed_column_is_renamed_in_options() -> None:
    options = {
        "primary-key": "k,p",
        "bucket": "2",
        "bucket-key": "k",
        "clustering.columns": "k,n",
        "sequence.field": "n",
        "fields.n.stats-mode": "full",
        "fields.n,k.sequence-group": "n,p",
        "other": "n",
    }
    schema = table(**{k.replace("-", "_"): v for k, v in options.items()})
    after = changed(schema, RenameColumn(("n",), "new"), RenameColumn(("k",), "key"))
    assert after.primary_keys == ("key", "p")
    assert after.options == {
        "bucket": "2",
        "bucket-key": "key",
        "clustering.columns": "key,new",
        "sequence.field": "new",
        "fields.new.stats-mode": "full",
        "fields.new,key.sequence-group": "new,p",
        "other": "n",
    }
    assert changed(schema, RenameColumn(("s", "x"), "n2")).options == schema.options
    with pytest.raises(InvalidOptionError, match="'n'"):
        changed(schema, DropColumn(("n",)))


@pytest.mark.parametrize(
    ("options", "after"),
    [
        ({"upsert-key": "n"}, {"upsert-key": "new"}),
        (
            {"sink.clustering.by-columns": "n,k", "clustering.columns": "n"},
            {"sink.clustering.by-columns": "new,k", "clustering.columns": "new"},
        ),
        ({"record-level.time-field": "n"}, {"record-level.time-field": "new"}),
        (
            {
                "primary-key": "k",
                "merge-engine": "partial-update",
                "fields.n.sequence-group": "p",
                "partial-update.remove-record-on-sequence-group": "n",
            },
            {
                "merge-engine": "partial-update",
                "fields.new.sequence-group": "p",
                "partial-update.remove-record-on-sequence-group": "new",
            },
        ),
    ],
)
def test_no_option_keeps_the_old_name_of_a_column(options: dict[str, str], after: dict[str, str]) -> None:
    """Other engines would not find the column; ALTER TABLE was refused, or left the table with an unusable option."""
    schema = new_table_schema(fields(k=INT, p=INT, n=INT), options=options)
    assert changed(schema, RenameColumn(("n",), "new")).options == after


EARLY = [SetOption("merge-engine", "first-row"), SetOption("bucket", "-1"), RemoveOption("bucket-key")]


@pytest.mark.parametrize("change", EARLY)
def test_some_options_are_fixed_with_the_first_snapshot(change: SetOption | RemoveOption) -> None:
    schema = table(primary_key="k", bucket="2")
    schema = (
        schema if change.key != "bucket-key" else changed(schema, SetOption("bucket-key", "k"), has_snapshots=False)
    )
    assert changed(schema, change, has_snapshots=False).id == schema.id + 1
    with pytest.raises(InvalidOptionError, match=change.key):
        changed(schema, change, has_snapshots=True)


@pytest.mark.parametrize(
    "change", [SetOption("primary-key", "n"), SetOption("type", "format-table"), RemoveOption("primary-key")]
)
def test_some_options_never_change(change: SetOption | RemoveOption) -> None:
    with pytest.raises(InvalidOptionError, match=change.key):
        changed(table(primary_key="k", bucket="2"), change, has_snapshots=False)


def test_the_type_of_a_table_may_be_said_again() -> None:
    assert changed(table(), SetOption("type", "TABLE")).options["type"] == "TABLE"


def test_deletion_vectors_need_permission() -> None:
    schema, turned_on = table(), SetOption("deletion-vectors.enabled", "true")
    with pytest.raises(InvalidOptionError, match=r"deletion-vectors\.modifiable"):
        changed(schema, turned_on)
    allowed = changed(schema, SetOption("deletion-vectors.modifiable", "true"))
    assert changed(allowed, turned_on).options["deletion-vectors.enabled"] == "true"
    with pytest.raises(InvalidOptionError, match="ignore-delete"):
        changed(table(ignore_delete="true"), SetOption("ignore-delete", "false"))


def test_replacing_gives_new_ids() -> None:
    old = table(**KEYED)
    new = new_table_schema(fields(p=INT, z=ROW), partition_keys=("p",))
    after = replacing_schema(old, new)
    assert (after.id, columns(after), after.options) == (1, ["p", "z"], {})
    assert min(f.id for f in nested_fields(after.row_type)) > old.highest_field_id
    assert after.highest_field_id == highest_field_id(after.fields)
    assert same_partitions(old, new) and not same_partitions(old, new_table_schema(fields(a=INT)))
