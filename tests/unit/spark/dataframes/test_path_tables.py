"""What the options of `format("paimon")` name."""

from __future__ import annotations

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_sql.spark.dataframes.path_tables import table_name


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


def test_secrets_of_a_storage_are_no_options_of_a_table() -> None:
    for key in ("s3.secret-key", "fs.s3a.access.key", "fsspec.token"):
        with pytest.raises(InvalidOptionError, match=rf"{key}: .* spark\.sql\.catalog\.paimon_path\.{key}") as caught:
            table_name({key: "hidden"}, "s3://bucket/t")
        assert "hidden" not in str(caught.value)
