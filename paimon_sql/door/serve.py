"""The functions of this process that a JVM driver calls: parsers of its sessions, names and writes of DataFrames."""

from __future__ import annotations

from paimon_sql.door.start import Driver
from paimon_sql.session import prepare
from paimon_sql.spark.dataframes.remote_frames import locator, rewritten_frame
from paimon_sql.spark.jvm.programs import driver_entry, join_driver
from paimon_sql.spark.jvm.sessions import java_session
from paimon_sql.spark.proxy import Function2
from paimon_sql.spark.statements.catalog_registry import LoadedCatalogs
from paimon_sql.spark.statements.parser import parsers


def serve(driver: Driver) -> None:
    """Join a driver, and hand the functions to it. Threads serve its calls from then on."""
    spark = join_driver(driver.port, driver.secret)
    jvm = prepare(spark.sparkContext)
    driver_entry(jvm).open(
        Function2(jvm, parsers(jvm, LoadedCatalogs())),
        locator(jvm, java_session(spark)),
        Function2(jvm, rewritten_frame),
    )
