"""What the options of `format("paimon")` name."""

from __future__ import annotations

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_sql.spark.path_tables import table_name


@pytest.mark.parametrize(
    ("options", "path", "name"),
    [
        ({}, "/a/b.db/t", "paimon_path.`/a/b.db/t`"),
        ({"PATH": "file:/a/t/"}, None, "paimon_path.`/a/t`"),
        ({}, ["s3://bucket/t"], "paimon_path.`s3://bucket/t`"),
        ({"catalog": "c"}, "/a/b.db/t", "`c`.`b`.`t`"),
        ({"catalog": "c", "table": "u"}, "/a/b.db/t", "`c`.`b`.`u`"),
        ({"catalog": "c", "database": "d", "table": "u"}, None, "`c`.`d`.`u`"),
    ],
)
def test_one_table(options: dict[str, str], path: object, name: str) -> None:
    assert table_name(options, path) == name


@pytest.mark.parametrize(
    ("options", "path"), [({}, None), ({}, ["/a", "/b"]), ({"path": "/a"}, "/a"), ({"catalog": "c"}, None)]
)
def test_not_one_path(options: dict[str, str], path: object) -> None:
    with pytest.raises(InvalidOptionError, match="one table at one path"):
        table_name(options, path)
