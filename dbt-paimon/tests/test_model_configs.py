"""The configs of models for their tables."""

import pytest
from dbt.adapters.paimon.model_configs import TableConfigs, read, strategy


def _strategy(**config):
    return strategy(config, read(config, {}))


def test_a_table_by_its_configs():
    config = {
        "primary_key": ["id", "day"],
        "partition_by": "day",
        "options": {"bucket": 2},
        "tblproperties": {"x": "y"},
    }
    table = read(config, {})
    assert table == TableConfigs(("id", "day"), ("day",), {"x": "y", "bucket": 2})
    assert table.properties == {"primary-key": "id,day", "x": "y", "bucket": 2}


def test_names_as_one_text():
    assert read({"primary_key": "`id`, day"}, {}).primary_key == ("id", "day")


def test_a_contract_may_bring_the_primary_key():
    model = {"columns": {"id": {"constraints": [{"type": "not_null"}, {"type": "primary_key"}]}, "x": {}}}
    assert read({"contract": {"enforced": True}}, model).primary_key == ("id",)
    assert read({"contract": {"enforced": False}}, model).primary_key == ()
    of_model = {**model, "constraints": [{"type": "primary_key", "columns": ["a", "b"]}]}
    assert read({"contract": {"enforced": True}}, of_model).primary_key == ("a", "b")


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"file_format": "delta"}, "file_format 'delta'.*file.format"),
        ({"location_root": "/tmp"}, "location_root does not exist"),
        ({"clustered_by": "id", "buckets": 2}, "clustered_by.*bucket-key"),
        ({"buckets": 2}, "buckets does not exist"),
        ({"grants": ["me"]}, "grants must be a mapping"),
        ({"grants": {"own": ["me"]}}, "no privilege 'own'.*SELECT"),
        ({"grants": {"create_table": ["me"]}}, "CREATE_TABLE can't be granted on a table"),
        ({"options": {"primary-key": "id"}}, "config primary_key"),
        ({"options": ["bucket"]}, "options must be a mapping"),
        ({"primary_key": 3}, "primary_key must be the name of a column"),
        ({"primary_key": ["id", ""]}, "primary_key must be the name of a column"),
    ],
)
def test_what_cannot_be_is_refused(config, text):
    with pytest.raises(ValueError, match=text):
        read(config, {})


def test_empty_grants_are_no_grants():
    assert read({"grants": {}, "file_format": "paimon"}, {}) == TableConfigs((), (), {})
    assert read({"grants": {"select": []}}, {}).grants == frozenset()


def test_grants_are_users_and_privileges():
    grants = read({"grants": {"select": ["ann", "ben"], "Insert": "ann"}}, {}).grants
    assert grants == {("ann", "SELECT"), ("ben", "SELECT"), ("ann", "INSERT")}


def test_the_strategy_that_fits_the_keys():
    assert _strategy() == "append"
    assert _strategy(primary_key="id") == "upsert"
    assert _strategy(primary_key="id", unique_key="id") == "upsert"
    assert _strategy(unique_key="id") == "merge"
    assert _strategy(primary_key="id", unique_key="other") == "merge"
    assert _strategy(primary_key="id", incremental_strategy="append") == "append"
    assert _strategy(incremental_strategy="of_my_own") == "of_my_own"


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"incremental_strategy": "upsert"}, "upsert needs a primary_key"),
        ({"incremental_strategy": "upsert", "unique_key": "id"}, "upsert needs a primary_key"),
        (
            {"incremental_strategy": "upsert", "primary_key": "id", "unique_key": ["x"]},
            r"\(id\), but unique_key is \(x\)",
        ),
        ({"incremental_strategy": "merge"}, "merge needs unique_key"),
        ({"incremental_strategy": "microbatch", "batch_size": "day"}, r"microbatch needs partition_by.*\(day\)"),
    ],
)
def test_strategies_that_cannot_be(config, text):
    with pytest.raises(ValueError, match=text):
        _strategy(**config)
