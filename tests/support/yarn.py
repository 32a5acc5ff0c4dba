"""YARN on this machine: a resource manager and a node manager, in processes of their own, on files of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from tests.support.ports import free_port
from tests.support.quick_jvm import QUICK_JVM
from tests.support.standalone import SPARK
from tests.support.waiting import PATIENCE

JARS = os.environ.get("PAIMON_SQL_YARN_JARS")  # the class path that `scripts/jars yarn 3.5.0` prints
_MANAGERS = ("resourcemanager.ResourceManager", "nodemanager.NodeManager")
_QUEUES = {"capacity": "50", "maximum-capacity": "100"}
_LOG = """
log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{HH:mm:ss} %p %c{1}: %m%n
"""


@dataclass(frozen=True)
class Yarn:
    folder: Path
    web: int

    @property
    def environment(self) -> dict[str, str]:
        """That of drivers."""
        own = {"HADOOP_CONF_DIR": str(self.folder), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        return os.environ | own

    @property
    def settings(self) -> dict[str, str]:
        """Those of a session: Spark's jars are there where containers run."""
        jars, staging = f"local:{SPARK}/jars/*", str(self.folder / "staging")
        return {"spark.yarn.jars": jars, "spark.yarn.stagingDir": staging, "spark.yarn.am.memory": "512m"}

    def applications(self) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.web}/ws/v1/cluster/apps", timeout=30) as answer:
            return list((json.load(answer)["apps"] or {}).get("app", []))

    def output(self) -> str:
        """The last lines of each container."""
        return "\n".join(f"{path}: {path.read_text()[-5000:]}" for path in self.folder.glob("logs/*/*/std*"))


@contextmanager
def yarn(folder: Path) -> Iterator[Yarn]:
    """With the queues `default` and `reports`. Containers have no limit but what they ask for."""
    ports = {name: free_port() for name in ("address", "scheduler.address", "resource-tracker.address")}
    ports |= {name: free_port() for name in ("admin.address", "webapp.address")}
    found = Yarn(folder, ports["webapp.address"])
    _write(folder / "core-site.xml", {"fs.defaultFS": "file:///"})
    _write(folder / "yarn-site.xml", _site(folder, ports))
    prefix = "yarn.scheduler.capacity"
    queues = {f"{prefix}.root.{queue}.{k}": v for queue in ("default", "reports") for k, v in _QUEUES.items()}
    queues |= {f"{prefix}.root.queues": "default,reports", f"{prefix}.maximum-am-resource-percent": "0.9"}
    _write(folder / "capacity-scheduler.xml", queues)
    (folder / "log4j.properties").write_text(_LOG)
    java = ["java", "-Xmx300m", *QUICK_JVM.split(), "--add-opens", "java.base/java.lang=ALL-UNNAMED"]
    started = []
    try:
        for name in _MANAGERS:
            command = [*java, "-cp", f"{folder}:{JARS}", f"org.apache.hadoop.yarn.server.{name}"]
            with (folder / f"{name}.log").open("w") as log:
                started.append(subprocess.Popen(command, stdout=log, stderr=log))
        _wait_for_the_node(folder, started)
        yield found
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(PATIENCE)


def _site(folder: Path, ports: Mapping[str, int]) -> dict[str, str]:
    node = {
        "hostname": "127.0.0.1",
        "address": "127.0.0.1:0",
        "localizer.address": f"127.0.0.1:{free_port()}",
        "webapp.address": f"127.0.0.1:{free_port()}",
        "resource.memory-mb": "4096",
        "resource.cpu-vcores": "4",
        "vmem-check-enabled": "false",
        "pmem-check-enabled": "false",
        "local-dirs": str(folder / "containers"),
        "log-dirs": str(folder / "logs"),
        "disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
    }
    return {
        **{f"yarn.resourcemanager.{name}": f"127.0.0.1:{port}" for name, port in ports.items()},
        **{f"yarn.nodemanager.{name}": value for name, value in node.items()},
        "yarn.resourcemanager.hostname": "127.0.0.1",
        "yarn.scheduler.minimum-allocation-mb": "256",
    }


def _write(path: Path, properties: Mapping[str, str]) -> None:
    lines = [
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
        for name, value in properties.items()
    ]
    path.write_text("\n".join(["<configuration>", *lines, "</configuration>"]))


def _wait_for_the_node(folder: Path, started: list[subprocess.Popen[bytes]]) -> None:
    log, deadline = folder / f"{_MANAGERS[1]}.log", time.monotonic() + PATIENCE
    while "Registered with ResourceManager" not in log.read_text():
        said = "\n".join((folder / f"{name}.log").read_text()[-3000:] for name in _MANAGERS)
        assert time.monotonic() < deadline and not any(process.poll() for process in started), said
        time.sleep(0.5)
