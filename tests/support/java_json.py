"""Metadata files as Apache Paimon's Java classes read them, in a JVM without Spark.

Run as a program, it writes `tests/unit/spec/java_json.json` again: Java's reading of each value of each member.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from tests.support.java_oracle import find_oracles

TABLE = Path(__file__).parents[1] / "unit" / "spec" / "java_json.json"
CLASSES = {
    "snapshot": "org.apache.paimon.Snapshot",
    "tag": "org.apache.paimon.tag.Tag",
    "consumer": "org.apache.paimon.consumer.Consumer",
    "statistics": "org.apache.paimon.stats.Statistics",
    "schema": "org.apache.paimon.schema.TableSchema",
}
_SNAPSHOT: dict[str, Any] = {
    "version": 3,
    "id": 5,
    "schemaId": 0,
    "baseManifestList": "b",
    "deltaManifestList": "d",
    "commitUser": "u",
    "commitIdentifier": 7,
    "commitKind": "APPEND",
    "timeMillis": 1,
    "totalRecordCount": 1,
    "deltaRecordCount": 1,
}
BASES: dict[str, dict[str, Any]] = {
    "snapshot": _SNAPSHOT,
    "tag": _SNAPSHOT,
    "consumer": {"nextSnapshot": 4},
    "statistics": {"snapshotId": 1, "schemaId": 0, "mergedRecordCount": 1, "mergedRecordSize": 1, "colStats": {}},
    "schema": {
        "version": 3,
        "id": 0,
        "fields": [{"id": 0, "name": "a", "type": "INT"}],
        "highestFieldId": 0,
        "partitionKeys": [],
        "primaryKeys": [],
        "options": {},
        "timeMillis": 1,
    },
}
_NUMBERS = (
    'null 5 -5 5.0 5.9 -5.9 1e3 1.50 "5" "_5_" "+5" "05" "5.0" "" "_" "null" "x" true false [] [5] {} 0.0000001 '
    '-0 1.10e2 9223372036854775807 9223372036854775808 1e19 "1e3" "9223372036854775808" 2147483648 '
    'NaN "NaN" 1E400 "true"'
)
_TEXTS = 'null 5 -5 5.0 1e3 1.50 "5" "_5_" "" "null" "x" true false [] [5] {} 9223372036854775808'
_CHOICES = (
    '"APPEND" "WRITE" "append" "_APPEND_" 0 1 3 8 9 -1 "0" "01" "_1" "null" "" "_" null 1.0 true [] {} ["APPEND"]'
)
_MAPS = 'null {} {"a":1} {"a":1.50} {"a":true} {"a":null} {"a":[]} {"a":{}} {"a":1E3} [] "" "x" 5'
_TIMES = (
    'null "2024-01-02T03:04:05.123456789" "2024-01-02T03:04" "2024-01-02_03:04:05" "2024-01-02T03:04:05Z" "2024-01-02" '
    '"2024-01-02T03:04:05+08:00" "" "_" "_2024-01-02T03:04:05_" "2024-01-02t03:04:05" "24-01-02T03:04:05" '
    "[2024,1,2,3,4] [2024,1,2,3,4,5] [2024,1,2,3,4,5,6000] [2024,1,2,3,4,5,6,7]  [2024,1,2] [2024,1,2,3] [] "
    '[2024,1,2,3,4,60] ["2024",1,2,3,4] [2024,1,2,3,4,5,"6"] [2024.0,1,2,3,4] [2024,1.0,2,3,4] [null,1,2,3,4] '
    '[2024,13,2,3,4] 1700000000 1700000000.5 "1700000000" true {} "2024-02-30T00:00:00" "2024-01-02T24:00:00" '
    '"2024-01-02T03:04:05." "2024-01-02T03:04:05.1234567890" "x" "null"'
)
_DURATIONS = (
    'null 60 60.5 -60 "PT1H" "P1D" "P1DT2H3M4.5S" "pt1h" "-PT1H" "PT-1H" "P1W" "P1M" "P1Y" "" "_PT1H_" "60" "1_d" '
    '"null" true [] [60] {} 1e3 "+PT1H" "PT" "P" "P1DT" "P1.5D" "PT1.5H" "PT1,5S" "PT-1.5S"'
)
_KEYS = 'null [] ["a"] "a" [5] [null] {} {"x":"a"} [["a"]] 5'
_OPTIONS = '{"a":1e10} {"a":123456.789} {"a":0.0001} {"a":[1]} {"a":{"b":1}}'
VALUES: dict[str, dict[str, str]] = {
    "snapshot": {
        "version": _NUMBERS,
        "id": _NUMBERS,
        "schemaId": _NUMBERS,
        "commitIdentifier": _NUMBERS,
        "timeMillis": _NUMBERS,
        "watermark": _NUMBERS,
        "commitUser": _TEXTS,
        "baseManifestList": _TEXTS,
        "indexManifest": _TEXTS,
        "commitKind": _CHOICES,
        "operation": _CHOICES,
        "properties": _MAPS,
    },
    "tag": {"tagCreateTime": _TIMES, "tagTimeRetained": _DURATIONS},
    "consumer": {"nextSnapshot": _NUMBERS},
    "statistics": {
        "snapshotId": _NUMBERS,
        "mergedRecordCount": _NUMBERS,
        "colStats": 'null [] "" {"a":null} {"a":{}} {"a":5} {"a":[]} {"a":{"colId":null,"min":true}} '
        '{"a":{"colId":"1","min":5,"max":1.50,"nullCount":"3","avgLen":2.9,"x":1}}',
    },
    "schema": {
        "version": _NUMBERS,
        "id": _NUMBERS,
        "highestFieldId": _NUMBERS,
        "timeMillis": _NUMBERS,
        "partitionKeys": _KEYS,
        "primaryKeys": _KEYS,
        "comment": _TEXTS,
        "options": f"{_MAPS} {_OPTIONS}",
    },
}


def values_of(kind: str, key: str) -> list[str | None]:
    """Return the spellings of a member to try; None stands for a missing member."""
    return [None, *(value.replace("_", " ") for value in VALUES[kind][key].split())]


def document(kind: str, changes: dict[str, str | None]) -> str:
    """A file of a kind with some members spelled as given, or left out."""
    kept = {k: json.dumps(v) for k, v in BASES[kind].items() if k not in changes}
    members = kept | {k: v for k, v in changes.items() if v is not None}
    return "{" + ", ".join(f"{json.dumps(k)}: {v}" for k, v in members.items()) + "}"


class JavaJson:
    """Java's readers of metadata files."""

    def __init__(self, gateway: JavaGateway) -> None:
        self._java = gateway.jvm

    def read(self, kind: str, text: str) -> dict[str, Any] | None:
        """Return a file as Java would write it again; None if Java refuses the file."""
        try:
            util = self._java.org.apache.paimon.utils.JsonSerdeUtil
            found = util.toFlatJson(util.fromJson(text, self._java.java.lang.Class.forName(CLASSES[kind])))
        except Py4JJavaError:
            return None
        made: dict[str, Any] = json.loads(found)
        return made


@contextmanager
def java_json() -> Iterator[JavaJson]:
    """Java's readers, in a JVM that ends with the context."""
    oracles = find_oracles()
    assert oracles is not None
    (jar,) = oracles.glob("paimon-spark-*.jar")
    (py4j_jar,) = (Path(pyspark.__file__).parent / "jars").glob("py4j*.jar")
    options = {"classpath": os.fspath(jar), "jarpath": os.fspath(py4j_jar), "die_on_exit": True, "enable_auth": True}
    port, token = launch_gateway(**options)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        yield JavaJson(gateway)
    finally:
        gateway.shutdown()


def _table() -> dict[str, dict[str, list[list[Any]]]]:
    with java_json() as java:
        return {
            kind: {
                key: [[value, java.read(kind, document(kind, {key: value}))] for value in values_of(kind, key)]
                for key in keys
            }
            for kind, keys in VALUES.items()
        }


if __name__ == "__main__":
    shown = {
        kind: {key: [[v, a and {"is": a.get(key)}] for v, a in rows] for key, rows in keys.items()}
        for kind, keys in _table().items()
    }
    lines = [
        f"{json.dumps(kind)}: {{\n"
        + ",\n".join(f"{json.dumps(key)}: {json.dumps(rows, ensure_ascii=False)}" for key, rows in keys.items())
        + "\n}"
        for kind, keys in shown.items()
    ]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
