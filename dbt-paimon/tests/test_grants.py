"""dbt's suites of grants, in a warehouse that has users."""

import pytest
from dbt.tests.adapter.grants.base_grants import TEST_USER_ENV_VARS
from dbt.tests.adapter.grants.test_incremental_grants import BaseIncrementalGrants
from dbt.tests.adapter.grants.test_invalid_grants import BaseInvalidGrants
from dbt.tests.adapter.grants.test_model_grants import BaseModelGrants
from dbt.tests.adapter.grants.test_seed_grants import BaseSeedGrants
from dbt.tests.adapter.grants.test_snapshot_grants import BaseSnapshotGrants

from tests.support.remote_storage import RemoteStorage

_CATALOG, _PREFIX = "guarded", "spark.sql.catalog.guarded"


@pytest.fixture(scope="module")
def guarded(spark, tmp_path_factory):
    """A catalog whose warehouse has three users, opened by its root."""
    remote, users = RemoteStorage.given(), ["ann", "ben", "o'cy"]
    place = {"warehouse": str(tmp_path_factory.mktemp("guarded"))} if remote is None else remote.warehouse()
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in {"type": "paimon", **place}.items())
    spark.sql(f"create catalog unguarded with ({listed})")
    spark.sql("call unguarded.sys.init_file_based_privilege('of root')")
    options = {"": "paimon_sql.SparkCatalog", ".user": "root", ".password": "of root"}
    options |= {f".{key}": value for key, value in place.items()}
    for option, value in options.items():
        spark.conf.set(f"{_PREFIX}{option}", value)
    with pytest.MonkeyPatch.context() as patch:
        for variable, user in zip(TEST_USER_ENV_VARS, users, strict=True):
            patch.setenv(variable, user)
            quoted = user.replace("'", "\\'")
            spark.sql(f"call {_CATALOG}.sys.create_privileged_user('{quoted}', 'secret')")
        yield
    spark.catalog.setCurrentCatalog("paimon")


class InGuarded:
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, guarded, profile_of_session):
        own = ("warehouse", "catalog_options")
        return {k: v for k, v in profile_of_session.items() if k not in own} | {"catalog": _CATALOG}

    def get_grants_on_relation(self, project, relation_name):
        rows = project.run_sql(f"call {_CATALOG}.sys.list_privileges()", fetch="all")
        found = {}
        for user, name, privilege in rows:
            if name == f"{project.test_schema}.{relation_name}":
                found.setdefault(privilege.lower(), []).append(user)
        return found


class TestModelGrants(InGuarded, BaseModelGrants):
    pass


class TestInvalidGrants(InGuarded, BaseInvalidGrants):
    def grantee_does_not_exist_error(self):
        return "invalid_user"

    def privilege_does_not_exist_error(self):
        return "There is no privilege 'fake_privilege'"


@pytest.mark.long
class TestIncrementalGrants(InGuarded, BaseIncrementalGrants):
    pass


@pytest.mark.long
class TestSeedGrants(InGuarded, BaseSeedGrants):
    pass


@pytest.mark.long
class TestSnapshotGrants(InGuarded, BaseSnapshotGrants):
    pass
