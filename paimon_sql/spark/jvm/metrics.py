"""Numbers of scans and writes in Spark's UI: `CustomMetric`s. The driver reports their values.

Spark makes the object that formats a number by the name of its class. So these classes are defined for Spark itself,
and a JVM that does not allow this shows no numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache

from py4j.java_collections import JavaArray

from paimon_core.dataclass import dataclass
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import hook, method

_CACHED = 16
_CLASS = "paimon_sql.Metric"


class MetricKind(StrEnum):
    """The kind of a number; the value is the class that formats it."""

    COUNT = _CLASS
    BYTES = f"{_CLASS}$Bytes"
    MILLIS = f"{_CLASS}$Millis"
    ID = f"{_CLASS}$Id"


@dataclass(frozen=True, slots=True)
class UiMetric:
    """A number in Spark's UI, which shows the description."""

    name: str
    description: str
    kind: MetricKind = MetricKind.COUNT


@lru_cache(_CACHED)
@hook(
    "`Utils.bytesToString`, `Utils.msDurationToString`",
    "numbers of scans and writes in Spark's UI",
    method(classes.SPARK_UTILS, "bytesToString", 1),
    method(classes.SPARK_UTILS, "msDurationToString", 1),
)
def supported_metrics(jvm: Jvm, metrics: tuple[UiMetric, ...]) -> JavaArray:
    """Return Spark's objects for the metrics; none if Spark cannot find their classes."""
    jvm.define("Metric", _CLASS)
    lines = "\n".join("\t".join((m.kind, m.name, m.description)) for m in metrics)
    return jvm.compiled("UiMetrics").supported(lines)


def reported_metrics(jvm: Jvm, metrics: tuple[UiMetric, ...], values: Mapping[str, int]) -> JavaArray:
    """Return the values of some of the metrics, by their names."""
    if not values or len(supported_metrics(jvm, metrics)) == 0:  # Spark fails on a value of a metric that it lacks
        return jvm.array(classes.CUSTOM_TASK_METRIC, [])
    return jvm.compiled("UiMetrics").values("\n".join(f"{name}\t{value}" for name, value in values.items()))
