"""A value that CREATE TABLE accepts can be used: the table is written and read."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import PaimonError
from paimon_core.options.support import OPTIONS
from paimon_core.options.table import TABLE_OPTIONS
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.load import load_catalog
from tests.support import stored
from tests.support.tables import fields


@pytest.mark.parametrize("value", ["no such", ""])
@pytest.mark.parametrize("keyed", [{}, {"primary-key": "k", "bucket": "1"}], ids=["append", "keyed"])
def test_texts_that_are_accepted_are_used(tmp_path: Path, value: str, keyed: dict[str, str]) -> None:
    accepted = 0
    for option in TABLE_OPTIONS:
        warehouse, given = str(tmp_path / option.key), {**keyed, option.key: value}
        try:
            schema = new_table_schema(fields(k=INT, v=STRING), options=given)
            load_catalog({"warehouse": warehouse}).create_table(Identifier("default", "t"), schema)
        except PaimonError:
            continue
        accepted += 1
        stored.insert(stored.open_table(warehouse), [(1, "a")])
        assert stored.read(stored.open_table(warehouse)) == [(1, "a")], option.key
    assert 10 < accepted < len(OPTIONS)
