"""Java's connector and ours in one session of Spark 4.1: two catalogs, `java` and `ours`, over one warehouse.

python -m tests.support.two_connectors JAR WAREHOUSE

Each writes a table and reads the other's; the rows that they read are printed as JSON. It is another process, because
the jar must be there when the JVM starts.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.spark.jvm.connector import string_map
from paimon_sql.spark.jvm.gateway import jvm_of
from paimon_sql.spark.jvm.sessions import java_session, loaded_catalogs

JAVA = "org.apache.paimon.spark.SparkCatalog"
EXTENSIONS = "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions"


def main(jar: str, warehouse: str) -> None:
    settings = {"spark.driver.extraClassPath": jar, "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    settings["spark.sql.extensions"] = EXTENSIONS
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.conf.set("spark.sql.catalog.ours", "paimon_sql.SparkCatalog")
    spark.conf.set("spark.sql.catalog.ours.warehouse", warehouse)
    paimon_sql.install(spark)
    jvm = jvm_of(spark.sparkContext)
    catalog = jvm.java_class(JAVA)()  # with the setting of its class, it would become a catalog of ours
    catalog.initialize("java", string_map(jvm, {"warehouse": warehouse}))
    loaded_catalogs(java_session(spark)).put("java", catalog)

    properties = "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')"
    for writer, other in (("java", "ours"), ("ours", "java")):
        spark.sql(f"CREATE TABLE {writer}.default.of_{writer} (k INT, v STRING) {properties}")
        spark.sql(f"INSERT INTO {writer}.default.of_{writer} VALUES (1, 'a'), (2, 'b')")
        spark.sql(f"INSERT INTO {other}.default.of_{writer} VALUES (2, 'B'), (3, 'c')")
    spark.sql("DELETE FROM ours.default.of_java WHERE k = 1")
    joined = "SELECT j.k, j.v, o.v FROM java.default.of_java j JOIN ours.default.of_ours o ON j.k = o.k ORDER BY j.k"
    read = {f"{r}.of_{w}": f"SELECT * FROM {r}.default.of_{w}" for w in ("java", "ours") for r in ("java", "ours")}
    queries = read | {"joined": joined}
    found = {name: [list(row) for row in spark.sql(query).collect()] for name, query in queries.items()}
    sys.stdout.write(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
