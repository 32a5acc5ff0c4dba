"""JVM programs: the classes of their jar, and the session of a driver that has started this process.

The classes come from `java/door/`, compiled in a JVM of this process, without a session.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from importlib.resources import files

from py4j.java_gateway import JavaObject
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from paimon_sql.spark.jvm import java
from paimon_sql.spark.jvm.gateway import KEPT, Jvm, compiled_in_turn, shipped_key, source_of
from paimon_sql.spark.jvm.hooks import hook, python
from paimon_sql.spark.jvm.java import door
from paimon_sql.spark.jvm.sessions import run_workers_with

_PACKAGE = "paimon_sql"
# classes that every driver needs, so that it does not wait for a compiler
_SHIPPED = ("CallbackConnections", "Members", "CatalogClasses", "ProxyFronts", "SourceTasks", "DividedScans")
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
# each source may use the ones before it: Janino compiles one at a time
_SOURCES = (
    (java, "DefaultSource"),
    (java, "FrameRewrites"),
    (java, "Metric"),
    (door, "DoorException"),
    (door, "Interpreter"),
    (door, "PythonProcess"),
    (door, "Door"),
    (door, "DoorParser"),
    (door, "Extensions"),
    (door, "SparkCatalog"),
    (door, "SparkGenericCatalog"),
)
# names in settings that were written for Paimon's Java connector, and the classes of ours for them
_NAMES_OF_JAVA = {
    "org.apache.paimon.spark.SparkCatalog": "paimon_sql.SparkCatalog",
    "org.apache.paimon.spark.SparkGenericCatalog": "paimon_sql.SparkGenericCatalog",
    "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions": "paimon_sql.Extensions",
}


def door_classes() -> Mapping[str, bytes]:
    """Return the code of each class by its name. Starts a JVM for this process if none runs."""
    sources = [_packaged(files(folder).joinpath(f"{name}.java").read_text("utf-8")) for folder, name in _SOURCES]
    shipped = [_packaged(source_of(name)) for name in _SHIPPED]
    named = (_subclass(name, ours) for name, ours in _NAMES_OF_JAVA.items())
    return compiled_in_turn([*shipped, _shipped_objects(), *sources, *named])


def _shipped_objects() -> str:
    """Return the source of the class that makes an object of each shipped class. This package uses such an object only
    if it was compiled from the same source as the package's own.
    """
    puts = "".join(f'    made.put("{shipped_key(name)}", new {name}());\n' for name in _SHIPPED)
    return (
        f"package {_PACKAGE};\nimport java.util.*;\npublic final class Shipped {{\n  static Map objects() {{\n"
        f"    Map made = new HashMap();\n{puts}    return made;\n  }}\n}}\n"
    )


def _packaged(source: str) -> str:
    """Return a source with a `package` line for the jar. The sources themselves have none, because `Jvm.compiled`
    compiles them without a package.
    """
    return source if source.startswith("package ") else f"package {_PACKAGE};\n{source}"


def _subclass(name: str, ours: str) -> str:
    """Return the source of a subclass that differs from its base class only by its name."""
    package, _, simple = name.rpartition(".")
    return f"package {package};\npublic class {simple} extends {ours} {{}}\n"


@hook(
    "PySpark's `launch_gateway` with a port, `SparkContext` over a Java context",
    "spark-sql, spark-shell and other JVM programs",
    python("pyspark.java_gateway", "launch_gateway"),
    python("pyspark", "SparkContext._ensure_initialized"),
)
def join_driver(port: int, secret: str) -> SparkSession:
    """Return the session of the driver that listens on a port. Both sides of the channel require the secret."""
    os.environ.update({_PORT: str(port), _SECRET: secret})
    try:
        gateway = launch_gateway()
    finally:
        for name in (_PORT, _SECRET):  # programs that this process starts do not need them
            os.environ.pop(name, None)
    gateway.callback_server_parameters.auth_token = secret
    setattr(gateway, KEPT, gateway.entry_point.compiled())
    session = gateway.entry_point.session()
    SparkContext._ensure_initialized(gateway=gateway)
    java_context = gateway.jvm.JavaSparkContext(session.sparkContext())
    conf = SparkConf(_jconf=session.sparkContext().getConf())
    interrupt = signal.getsignal(signal.SIGINT)
    context = SparkContext(gateway=gateway, jsc=java_context, conf=conf)
    signal.signal(signal.SIGINT, interrupt)  # PySpark cancels all jobs then, which the driver decides
    if workers := conf.get("spark.pyspark.python"):  # spark-submit passes it only to Python programs
        run_workers_with(context, workers)
    return SparkSession(context, session)


def driver_entry(jvm: Jvm) -> JavaObject:
    """Return the driver's object for this process."""
    return jvm.gateway.entry_point
