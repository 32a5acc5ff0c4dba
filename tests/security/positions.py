"""Where a name can stand in a catalog and in a table: what makes one there, what lists them, what takes one away.

Everything is asked of the core, as the bridge and the procedures ask it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from paimon_core.commit.draft import CommitInfo
from paimon_core.maintenance import branches, tags
from paimon_core.maintenance.branch_rename import rename_branch
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import INT, STRING, DataField, RowType
from paimon_core.store import consumers
from paimon_core.store.branches import branch_names
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, RenameColumn, SetOption
from paimon_core.store.snapshots import list_snapshots
from paimon_core.store.tags import tag_names
from paimon_core.table import Table
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.catalog.view import View
from tests.support import stored
from tests.support.tables import fields
from tests.support.watched import Watch

T = Identifier("default", "t")
OLD = "old"  # what is renamed
VIEW = View(fields=(DataField(id=0, name="k", type=INT),), query="SELECT k FROM t")


class Place:
    """A catalog under watch, with the table `t` of one row."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.catalog = FileSystemCatalog(watch.io(), str(watch.warehouse))
        stored.insert(self.create("t", new_table_schema(fields(k=INT, v=STRING))), [(1, "a")])

    @property
    def table(self) -> Table:
        return self.catalog.load_table(T)

    def create(self, name: str, schema: TableSchema) -> Table:
        identifier = Identifier("default", name)
        self.catalog.create_table(identifier, schema)
        return self.catalog.load_table(identifier)

    def drop(self, name: str) -> None:
        self.catalog.drop_table(Identifier("default", name))

    def alter(self, *changes: Any) -> None:
        self.catalog.alter_table(T, changes)


@dataclass(frozen=True)
class Position:
    """`make` raises a `PaimonError` for what it refuses, `names` are those that were made, `drop` takes one away."""

    make: Callable[[Place, str], object]
    names: Callable[[Place], Iterable[str]]
    drop: Callable[[Place, str], object] | None = None


def _rename_table(place: Place, name: str) -> None:
    place.catalog.create_table(Identifier("default", OLD), place.table.schema, ignore_if_exists=True)
    place.catalog.rename_table(Identifier("default", OLD), Identifier("default", name))


def _tables(place: Place) -> Iterable[str]:
    return (name for name in place.catalog.list_tables("default") if name not in ("t", OLD))


def _create_tag(place: Place, name: str) -> None:
    store = place.table.store
    tags.create_tag(store, name, tags.taggable_snapshot(store, None))


def _replace_tag(place: Place, name: str) -> None:
    _create_tag(place, name)
    tags.replace_tag(place.table.store, name)


def _rename_tag(place: Place, name: str) -> None:
    if OLD not in tag_names(place.table.store):
        _create_tag(place, OLD)
    tags.rename_tag(place.table.store, OLD, name)


def _tags(place: Place) -> Iterable[str]:
    return (name for name in tag_names(place.table.store) if name != OLD)


def _delete_tag(place: Place, name: str) -> None:
    assert tags.delete_tags(place.table.store, [name]) == [name]


def _create_branch(place: Place, name: str) -> None:
    branches.create_branch(place.table.store, name)


def _rename_branch(place: Place, name: str) -> None:
    if OLD not in branch_names(place.table.store):
        _create_branch(place, OLD)
    rename_branch(place.table.store, OLD, name)


def _branches(place: Place) -> Iterable[str]:
    return (name for name in branch_names(place.table.store) if name != OLD)


def _delete_branch(place: Place, name: str) -> None:
    branches.delete_branch(place.table.store, name)


def _create_view(place: Place, name: str) -> None:
    place.catalog.create_view(Identifier("default", name), VIEW)


def _rename_view(place: Place, name: str) -> None:
    place.catalog.create_view(Identifier("default", OLD), VIEW, ignore_if_exists=True)
    place.catalog.rename_view(Identifier("default", OLD), Identifier("default", name))


def _views(place: Place) -> Iterable[str]:
    return (name for name in place.catalog.list_views("default") if name != OLD)


def _describe_view(place: Place, name: str) -> None:
    """A view whose query, comment and option is the text; what it is called does not matter."""
    made = View(fields=VIEW.fields, query=f"SELECT '{name}'", comment=name, options={"x": name})
    place.catalog.create_view(Identifier("default", f"v{len(place.catalog.list_views('default'))}"), made)


def _view_texts(place: Place) -> Iterable[str]:
    for name in place.catalog.list_views("default"):
        found = place.catalog.load_view(Identifier("default", name))
        assert found.query == f"SELECT '{found.comment}'" and found.options == {"x": found.comment}
        yield str(found.comment)


def _rename_column(place: Place, name: str) -> None:
    if OLD not in [f.name for f in place.table.schema.fields]:
        place.alter(AddColumn((OLD,), INT))
    place.alter(RenameColumn((OLD,), name))


def _columns(place: Place) -> Iterable[str]:
    return (f.name for f in place.table.schema.fields if f.name not in ("k", "v", OLD))


def _add_field(place: Place, name: str) -> None:
    if not list(_columns(place)):
        place.alter(AddColumn(("r",), RowType(fields=(DataField(id=0, name="k", type=INT),))))
    place.alter(AddColumn(("r", name), INT))


def _fields(place: Place) -> Iterable[str]:
    rows = [f.type for f in place.table.schema.fields if isinstance(f.type, RowType)]
    return (f.name for row in rows for f in row.fields if f.name != "k")


def _options(place: Place) -> dict[str, str]:
    return dict(place.table.schema.options)


def _write_property(place: Place, name: str) -> None:
    table = place.table
    table.commit(stored.write(table, [(1, "c")]), CommitInfo(user=name, properties={name: name}))


def _users(place: Place) -> Iterable[str]:
    made = [s for s in list_snapshots(place.table.store) if s.id > 1]
    assert [s.properties for s in made] == [{s.commit_user: s.commit_user} for s in made]
    return (s.commit_user for s in made)


POSITIONS = {
    "database": Position(
        lambda place, name: place.catalog.create_database(name),
        lambda place: (name for name in place.catalog.list_databases() if name != "default"),
        lambda place, name: place.catalog.drop_database(name, cascade=True),
    ),
    "table": Position(lambda place, name: place.create(name, place.table.schema), _tables, Place.drop),
    "new name of a table": Position(_rename_table, _tables, Place.drop),
    "column": Position(lambda place, name: place.alter(AddColumn((name,), INT)), _columns),
    "new name of a column": Position(_rename_column, _columns),
    "nested field": Position(_add_field, _fields),
    "tag": Position(_create_tag, _tags, _delete_tag),
    "replaced tag": Position(_replace_tag, _tags, _delete_tag),
    "new name of a tag": Position(_rename_tag, _tags, _delete_tag),
    "branch": Position(_create_branch, _branches, _delete_branch),
    "new name of a branch": Position(_rename_branch, _branches, _delete_branch),
    "consumer": Position(
        lambda place, name: consumers.write_consumer(place.table.store, name, 1),
        lambda place: consumers.list_consumers(place.table.store),
        lambda place, name: consumers.delete_consumer(place.table.store, name),
    ),
    "view": Position(_create_view, _views, lambda place, name: place.catalog.drop_view(Identifier("default", name))),
    "new name of a view": Position(
        _rename_view, _views, lambda place, name: place.catalog.drop_view(Identifier("default", name))
    ),
    "comment and option of a view": Position(_describe_view, _view_texts),
    "key of an option": Position(lambda place, name: place.alter(SetOption(name, "x")), _options),
    "value of an option": Position(
        lambda place, name: place.alter(SetOption(f"x{len(_options(place))}", name)),
        lambda place: _options(place).values(),
    ),
    "user and property of a commit": Position(_write_property, _users),
}
# those that become the name of a file or folder
FOLDERS = frozenset(
    name
    for name in POSITIONS
    if name.split()[-1] in ("database", "table", "tag", "branch", "consumer", "view") and "comment" not in name
)
