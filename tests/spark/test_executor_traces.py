"""Spans of tasks are children of the driver's spans if the Python workers of executors record spans."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

RECORDING = """
import json, os
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

class Lines(SpanExporter):
    def export(self, spans):
        with open(os.path.join({folder!r}, f"{{os.getpid()}}.jsonl"), "a") as out:
            for span in spans:
                parent = span.parent and span.parent.span_id
                line = dict(pid=os.getpid(), name=span.name, trace=span.context.trace_id, id=span.context.span_id)
                out.write(json.dumps(line | dict(parent=parent, attributes=dict(span.attributes))) + "\\n")
        return SpanExportResult.SUCCESS

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Lines()))
trace.set_tracer_provider(provider)
"""
PROGRAM = """
import sys
import paimon_sql
from paimon_core.tracing import current_parent, span

spark = paimon_sql.connect(warehouse=sys.argv[1], config={"spark.ui.enabled": "false"})
spark.sql("CREATE DATABASE lake")
spark.sql(
    "CREATE TABLE lake.t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2', 'write-only' = 'true')"
)
with span("program"):
    spark.sparkContext.setLocalProperty("paimon.traceparent", current_parent())
    for value in ("hunter2", "b"):
        spark.sql(f"INSERT INTO lake.t SELECT CAST(id AS INT), '{value}' FROM range(100)")
    assert len(spark.sql("SELECT * FROM lake.t WHERE v <> 'c'").collect()) == 100
spark.stop()
"""


def test_tasks_of_executors_are_in_the_tree(tmp_path: Path) -> None:
    spans, hooks = tmp_path / "spans", tmp_path / "hooks"
    spans.mkdir()
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(RECORDING.format(folder=str(spans)))
    (tmp_path / "program.py").write_text(PROGRAM)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(hooks), *filter(None, [os.environ.get("PYTHONPATH")])])}
    program = [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "warehouse")]
    ended = subprocess.run(program, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found: list[dict[str, Any]] = [
        json.loads(line) for file in spans.iterdir() for line in file.read_text().splitlines()
    ]
    (root,) = (s for s in found if s["name"] == "paimon.program")
    tasks = [s for s in found if s["name"] == "paimon.task"]
    assert tasks and all(s["pid"] != root["pid"] and s["trace"] == root["trace"] for s in tasks)
    assert {s["attributes"]["paimon.kind"] for s in tasks} == {"read", "write"}
    assert {s["attributes"]["paimon.table"] for s in tasks} == {"lake.t"}
    assert all(isinstance(s["attributes"]["paimon.partition"], int) for s in tasks)
    (query,) = (s for s in found if s["name"] == "paimon.query")
    assert {s["parent"] for s in tasks if s["attributes"]["paimon.kind"] == "read"} == {query["id"]}
    known = {s["id"] for s in found}
    assert all(s["parent"] in known for s in tasks)
    assert "hunter" not in str(found)
