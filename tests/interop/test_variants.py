"""VARIANTs with parts in columns of their own: written, read, merged, changed and compacted by both engines."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.interop.engines import Engines

PARTS = {
    "a": "BIGINT",
    "b": "STRING",
    "d": "DECIMAL(10, 2)",
    "o": {"type": "ROW", "fields": [{"name": "x", "type": "INT"}, {"name": "y", "type": "DOUBLE"}]},
    "l": {"type": "ARRAY", "element": {"type": "ROW", "fields": [{"name": "k", "type": "STRING"}]}},
}
PARTS_OF_V = {"type": "ROW", "fields": [{"name": n, "type": t} for n, t in PARTS.items()]}
SHREDDED = json.dumps({"type": "ROW", "fields": [{"name": "v", "type": PARTS_OF_V}]})
DOCUMENTS = (
    '{"a":1,"b":"x","d":1.25,"l":[{"k":"v"},{"k":2,"z":[]}],"o":{"x":5,"y":1.5e0,"q":{"deep":[1]}}}',
    '{"a":"no number","b":7,"d":1.255,"l":{"q":1},"o":[1,2],"rest":[1,{"k":2},null,[]]}',
    *("{}", "null", "5", '"text"', '[1,{"a":[2]}]', '{"a":null,"l":[],"日本":{},"o":{}}', '{"zz":1,"l":[1,null]}'),
)
SHOWN = "id, to_json(v) AS v, schema_of_variant(v) AS type, to_json(s.n) AS n"


@pytest.mark.parametrize("writer", ["java", "ours"])
@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("'primary-key' = 'id', 'bucket' = '1', 'write-only' = 'true'", f"'variant.shreddingSchema' = '{SHREDDED}'"),
        ("'row-tracking.enabled' = 'true'", "'variant.inferShreddingSchema' = 'true'"),
    ],
)
def test_shredded(engines: Engines, kind: str, how: str, writer: str) -> None:
    engines.run(writer, f"CREATE TABLE t (id INT, v VARIANT, s STRUCT<n: VARIANT>) TBLPROPERTIES ({kind}, {how})")
    rows = [f"({i}, parse_json('{d}'), struct(parse_json('{d}')))" for i, d in enumerate(DOCUMENTS)]
    for start in (0, 5):
        inserted = ", ".join([*rows[start:], "(99, NULL, NULL)"])
        engines.run(writer, f"INSERT INTO t SELECT /*+ COALESCE(1) */ * FROM VALUES {inserted}")
    paths = [r[0] for r in engines.rows("ours", "SELECT file_path FROM t$files")]
    if "inferShreddingSchema" not in how:  # half of the documents are objects: no type fits all
        assert [pq.read_schema(path).field("v").type.get_field_index("typed_value") for path in paths] == [2, 2]
    before = engines.both(f"SELECT {SHOWN} FROM t")
    assert {json.dumps(json.loads(r[1])) for r in before if r[0] == 0} == {
        json.dumps(json.loads(DOCUMENTS[0]), sort_keys=True)
    }
    engines.run("ours", "UPDATE t SET v = parse_json('{\"a\":5}') WHERE id = 2", "DELETE FROM t WHERE id = 3")
    changed = engines.both(f"SELECT {SHOWN} FROM t")
    engines.run("ours", f"CALL sys.compact(table => '{engines.database}.t', compact_strategy => 'full')")
    engines.both(f"SELECT {SHOWN} FROM t", changed)


@pytest.mark.parametrize("writer", ["java", "ours"])
def test_inferred_parts(engines: Engines, writer: str) -> None:
    """Both engines find the same parts, and read each other's."""
    infer = "'variant.inferShreddingSchema' = 'true'"
    engines.run(writer, f"CREATE TABLE t (id INT, v VARIANT, s STRUCT<n: VARIANT>) TBLPROPERTIES ({infer})")
    documents = [
        '{"a":1,"b":"x","d":1.25,"l":[{"k":"v"},{"k":2}],"o":{"x":5,"y":1.5e0,"q":{"deep":[1]}},"t":true}',
        '{"a":-5,"b":"y","d":7,"l":[],"o":{"x":123456789012,"y":2.5e0},"t":null}',
        '{"a":3,"b":null,"d":100.5,"l":[{"k":null}],"o":{"x":1},"rare":1}',
    ]
    rows = [f"({i}, parse_json('{d}'), struct(parse_json('{d}')))" for i, d in enumerate(documents * 4)]
    engines.run(writer, f"INSERT INTO t SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(rows)}, (99, NULL, NULL)")
    engines.both("SELECT id, to_json(v) AS v, schema_of_variant(v) AS type, to_json(s.n) AS n FROM t")
    (path,) = [r[0] for r in engines.rows("ours", "SELECT file_path FROM t$files")]
    found = pq.read_schema(path)
    assert [_parts(t) for t in (found.field("v").type, found.field("s").type.field("n").type)] == [PARTS_FOUND] * 2


PARTS_FOUND = {
    "a": "int64",
    "b": "string",
    "d": "decimal128(18, 2)",
    "l": [None],
    "o": {"q": {"deep": ["int64"]}, "x": "int64", "y": "double"},
    "rare": "int64",
    "t": "bool",
}


def _parts(arrow: pa.DataType) -> Any:
    if arrow.get_field_index("typed_value") < 0:
        return None
    typed = arrow.field("typed_value").type
    if pa.types.is_struct(typed):
        return {f.name: _parts(f.type) for f in typed}
    return [_parts(typed.value_type)] if pa.types.is_list(typed) else str(typed)
