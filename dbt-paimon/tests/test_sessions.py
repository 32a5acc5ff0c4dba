"""The session of a profile."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from dbt.adapters.paimon.connections import PaimonSession, PaimonSessionWrapper
from dbt.adapters.paimon.credentials import PaimonCredentials
from dbt.adapters.paimon.sessions import shared_session
from dbt_common.exceptions import DbtConfigError


def _credentials(**profile):
    return PaimonCredentials.from_dict({"schema": "default", **profile})


def test_threads_share_one_session(spark, profile_of_session):
    profile = {k: v for k, v in profile_of_session.items() if k not in ("type", "threads")}
    with ThreadPoolExecutor(4) as threads:
        sessions = list(threads.map(lambda _: shared_session(_credentials(**profile)), range(8)))
    assert {id(session) for session in sessions} == {id(spark)}


def test_a_name_is_not_used_for_another_catalog(spark, tmp_path):
    with pytest.raises(DbtConfigError, match="has used the catalog paimon with other settings"):
        shared_session(_credentials(warehouse=str(tmp_path / "other")))


def test_a_catalog_that_settings_configure(spark, tmp_path):
    spark.conf.set("spark.sql.catalog.settled", "paimon_sql.SparkCatalog")
    spark.conf.set("spark.sql.catalog.settled.warehouse", str(tmp_path))
    session = shared_session(_credentials(database="settled"))
    assert session.sql("show databases in settled").count() == 1
    session.catalog.setCurrentCatalog("paimon")


def test_no_warehouse_and_no_such_catalog(spark):
    with pytest.raises(DbtConfigError, match="Spark has no Paimon catalog nowhere"):
        shared_session(_credentials(database="nowhere"))


def test_options_of_a_catalog_without_a_warehouse(spark):
    with pytest.raises(DbtConfigError, match="metastore: a catalog needs a warehouse"):
        shared_session(_credentials(database="other", metastore="jdbc"))


def test_what_runs_can_be_cancelled(spark):
    """As on Ctrl-C: dbt cancels the connections that are open, from another thread."""
    handle = PaimonSessionWrapper(PaimonSession(spark))
    other = PaimonSessionWrapper(PaimonSession(spark))

    def run():
        cursor = handle.cursor()
        cursor.execute("select sum(hash(id)) from range(1000000000000)")
        return cursor.fetchall()

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(run)
        try:
            while not spark.sparkContext.statusTracker().getActiveJobsIds():
                assert not running.done()
                time.sleep(0.1)
            other.cancel()  # which runs nothing
            assert not running.done()
            handle.cancel()
            with pytest.raises(Exception, match=r"(?i)cancel"):
                running.result(timeout=60)
        finally:
            spark.sparkContext.cancelAllJobs()
