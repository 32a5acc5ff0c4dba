"""Schemas that a session keeps, on storages with tags of files: what other clients do between two of its requests."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import SchemaNotFoundError, TableNotFoundError
from paimon_core.io.objects.store import _tag
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.filesystem import FileSystemCatalog
from tests.support.counted_requests import TaggingIO
from tests.support.tables import fields

T, AWAY = Identifier("default", "t"), Identifier("default", "away")
Act = Callable[[FileSystemCatalog], object]


class Between(TaggingIO):
    """A storage on which others act before the call number `at`."""

    def __init__(self, at: int, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self.at, self.meanwhile, self.calls = at, meanwhile, 0

    def request(self, name: str, path: str, times: int, at_once: int) -> None:
        self.calls += 1
        if self.calls == self.at:
            self.meanwhile()
        super().request(name, path, times, at_once)


def create(catalog: FileSystemCatalog, column: str) -> None:
    catalog.create_table(T, new_table_schema(fields(**{column: INT}), options={}))


def column(catalog: FileSystemCatalog) -> str | None:
    try:
        return catalog.load_table(T).schema.fields[0].name
    except (TableNotFoundError, SchemaNotFoundError):  # dropped before the look, or after it
        return None


REPLACED: tuple[Act, ...] = (lambda c: c.rename_table(T, AWAY), lambda c: create(c, "b"))
BACK: tuple[Act, ...] = (lambda c: c.drop_table(T), lambda c: c.rename_table(AWAY, T))


@pytest.mark.parametrize(("acts", "later"), [(REPLACED, BACK), ((*REPLACED, *BACK), ()), (BACK[:1], ())])
def test_a_table_that_others_replace_while_it_is_opened(
    acts: tuple[Act, ...], later: tuple[Act, ...], tmp_path: Path
) -> None:
    """A table that is renamed and named back has the tag again that the list showed before another table was read."""
    for at in count(1):
        warehouse = str(tmp_path / str(at))
        other = FileSystemCatalog(io=TaggingIO(), warehouse=warehouse)
        create(other, "a")
        io = Between(at, lambda other=other: [act(other) for act in acts])  # type: ignore[misc]
        session = FileSystemCatalog(io=io, warehouse=warehouse)
        column(session)
        if at > io.calls:
            return
        for number in range(len(later) + 1):
            fresh = column(FileSystemCatalog(io=TaggingIO(), warehouse=warehouse))
            assert [column(session), column(session)] == [fresh] * 2, f"before call {at}"
            for act in later[number : number + 1]:
                act(other)


@pytest.mark.parametrize(
    ("given", "tag"),
    [('"0x8D"', "0x8D"), ("0x8D", "0x8D"), (None, None), ("", None), ('""', None), ('W/"1"', None)],
)
def test_tags_that_identify_no_content_are_not_used(given: Any, tag: str | None) -> None:
    assert _tag({"e_tag": given}) == tag
