"""dbt's suites of incremental models."""

import pytest
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import BaseMergeExcludeColumns
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import BaseIncrementalOnSchemaChange
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey

_BATCHES = """
{{ config(materialized='incremental', incremental_strategy='microbatch', partition_by='day', event_time='event_time',
          batch_size='day', begin=modules.datetime.datetime(2020, 1, 1, 0, 0, 0), concurrent_batches=true) }}
select id, event_time, to_date(event_time) as day from {{ ref('input_model') }}
"""


class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "merge"}}


class TestIncrementalPredicates(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_predicates": ["dbt_internal_dest.id != 2"], "+incremental_strategy": "merge"}}


@pytest.mark.long
class TestIncrementalUniqueKey(BaseIncrementalUniqueKey):
    pass


@pytest.mark.long
class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChange):
    pass


class TestMicrobatch(BaseMicrobatch):
    """Its batches run at the same time, each with a view of its own."""

    @pytest.fixture(scope="class")
    def microbatch_model_sql(self):
        return _BATCHES
