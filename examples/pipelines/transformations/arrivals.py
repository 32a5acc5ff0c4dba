"""Arrivals as a stream of the demo's flights, and the delays of each carrier."""

from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()


@dp.table(table_properties={"primary-key": "carrier,flight,origin,scheduled", "bucket": "2"})
def arrivals():
    """Return the last news of each flight that has arrived. A run reads only what came since the run before."""
    flights = spark.readStream.table("paimon.nyc.flights").where("arr_delay IS NOT NULL")
    return flights.select("carrier", "flight", "origin", "scheduled", "dest", "arr_delay")


@dp.materialized_view(cluster_by=["delay"])
def carriers():
    return spark.table("arrivals").groupBy("carrier").agg({"arr_delay": "avg"}).toDF("carrier", "delay")
