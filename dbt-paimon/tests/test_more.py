"""Further suites of dbt's: docs, persisted comments, seeds, hooks, aliases, unit tests, macros of dbt."""

import pytest
from dbt.tests.adapter.aliases import fixtures
from dbt.tests.adapter.aliases.test_aliases import BaseAliasErrors, BaseSameAliasDifferentSchemas
from dbt.tests.adapter.caching.test_caching import BaseCachingLowercaseModel, BaseCachingUppercaseModel
from dbt.tests.adapter.dbt_show.test_dbt_show import BaseShowLimit
from dbt.tests.adapter.empty.test_empty import BaseTestEmpty
from dbt.tests.adapter.hooks.test_run_hooks import BaseAfterRunHooks
from dbt.tests.adapter.persist_docs.test_persist_docs import BasePersistDocs, BasePersistDocsColumnMissing
from dbt.tests.adapter.query_comment.test_query_comment import BaseQueryComments
from dbt.tests.adapter.relations.test_dropping_schema_named import BaseDropSchemaNamed
from dbt.tests.adapter.simple_seed.test_seed import BaseTestEmptySeed
from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.utils.data_types.test_type_string import BaseTypeString
from dbt.tests.adapter.utils.test_any_value import BaseAnyValue
from dbt.tests.adapter.utils.test_bool_or import BaseBoolOr
from dbt.tests.adapter.utils.test_concat import BaseConcat
from dbt.tests.adapter.utils.test_date_trunc import BaseDateTrunc
from dbt.tests.adapter.utils.test_dateadd import BaseDateAdd
from dbt.tests.adapter.utils.test_equals import BaseEquals
from dbt.tests.adapter.utils.test_hash import BaseHash
from dbt.tests.adapter.utils.test_last_day import BaseLastDay
from dbt.tests.adapter.utils.test_length import BaseLength
from dbt.tests.adapter.utils.test_replace import BaseReplace
from dbt.tests.adapter.utils.test_safe_cast import BaseSafeCast
from dbt.tests.adapter.utils.test_string_literal import BaseStringLiteral

pytestmark = pytest.mark.long


class TestAliasErrors(BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(BaseSameAliasDifferentSchemas):
    @pytest.fixture(scope="class")
    def macros(self):
        """The suite's, of which one is written for PostgreSQL."""
        cast = fixtures.MACROS__CAST_SQL.replace("::text", "::string")
        return {"cast.sql": cast, "expect_value.sql": fixtures.MACROS__EXPECT_VALUE_SQL}


class TestCachingLowercaseModel(BaseCachingLowercaseModel):
    pass


class TestCachingUppercaseModel(BaseCachingUppercaseModel):
    pass


class TestShowLimit(BaseShowLimit):
    pass


class TestEmptyFlag(BaseTestEmpty):
    pass


class TestAfterRunHooks(BaseAfterRunHooks):
    pass


@pytest.mark.views
class TestPersistDocs(BasePersistDocs):
    pass


class TestPersistDocsColumnMissing(BasePersistDocsColumnMissing):
    pass


class TestQueryComments(BaseQueryComments):
    pass


class TestDropSchemaNamed(BaseDropSchemaNamed):
    pass


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestUnitTestCaseInsensivity(BaseUnitTestCaseInsensivity):
    pass


class TestUnitTestInvalidInput(BaseUnitTestInvalidInput):
    pass


class TestTypeString(BaseTypeString):
    pass


class TestAnyValue(BaseAnyValue):
    pass


class TestBoolOr(BaseBoolOr):
    pass


class TestConcat(BaseConcat):
    pass


class TestDateTrunc(BaseDateTrunc):
    pass


class TestDateAdd(BaseDateAdd):
    pass


class TestEquals(BaseEquals):
    pass


class TestHash(BaseHash):
    pass


class TestLastDay(BaseLastDay):
    pass


class TestLength(BaseLength):
    pass


class TestReplace(BaseReplace):
    pass


class TestSafeCast(BaseSafeCast):
    pass


class TestStringLiteral(BaseStringLiteral):
    pass
