"""Options that list columns: each name is a column of the table, and appears once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from paimon_core.errors import InvalidOptionError, InvalidSchemaError
from paimon_core.spec.schema import TableSchema

FIELDS_PREFIX = "fields."
# Options with a list of the table's columns as their value.
COLUMN_LISTS = (
    "blob-descriptor-field",
    "blob-field",
    "blob-view-field",
    "bucket-key",
    "changelog-producer.row-deduplicate-ignore-fields",
    "clustering.columns",
    "partial-update.remove-record-on-sequence-group",
    "pk-bitmap.index.columns",
    "pk-btree.index.columns",
    "pk-multivalue.index.columns",
    "sequence.field",
    "sink.clustering.by-columns",
    "upsert-key",
)
_ELSEWHERE = frozenset((*(n for n in COLUMN_LISTS if n.startswith("blob-")), "sink.clustering.by-columns"))
_OF_FIELDS = ("sequence-group", "nested-key")  # suffixes of `fields.<columns>.<suffix>` with a list as their value
_FILE_INDEX, _COLUMNS = "file-index.", ".columns"


def check_column_lists(schema: TableSchema, previous: TableSchema | None = None) -> None:
    """Raise `InvalidOptionError` for an empty name, a repeated name, and a name that is not a column.

    Another engine may have created a table with such an option: an option that the version `previous` already has is
    accepted.
    """
    before = {} if previous is None else previous.options
    for key, value in schema.options.items():
        if before.get(key) == value:
            continue
        for text, of_table in _lists(key, value):
            _check(schema, key, text, of_table=of_table)


def _lists(key: str, value: str) -> Iterator[tuple[str, bool]]:
    """Yield the lists in an option, and whether their names must be columns of the table.

    Other lists may contain other names; other rules check these, with messages of their own.
    """
    if key in COLUMN_LISTS:
        yield value, key not in _ELSEWHERE
    elif key.startswith(_FILE_INDEX) and key.endswith(_COLUMNS):
        yield value, False  # names may also be values of maps, `m[key]`
    elif key.startswith(FIELDS_PREFIX):
        columns, dot, suffix = key[len(FIELDS_PREFIX) :].partition(".")
        if dot:
            yield columns, False
        if suffix in _OF_FIELDS:
            yield value, False


def _check(schema: TableSchema, key: str, text: str, *, of_table: bool) -> None:
    names = [name.strip() for name in text.split(",")]
    if names == [""]:
        return  # an empty list: another rule checks whether it may be empty
    said = f"Option {key!r} cannot be {text!r}" if text == schema.options[key] else f"Option {key!r}"
    if "" in names:
        raise InvalidOptionError(f"{said}: it has an empty name. List columns with one comma between two of them.")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidOptionError(f"{said}: it names {twice[0]!r} more than once. Name each column once.")
    if of_table:
        try:
            schema.select(tuple(names))
        except InvalidSchemaError as e:
            raise InvalidOptionError(f"{said}. {e}") from e
