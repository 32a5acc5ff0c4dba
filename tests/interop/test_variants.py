"""VARIANTs of which Java stores parts in columns of their own: read, merged, changed and compacted by both engines."""

from __future__ import annotations

import json

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


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("'primary-key' = 'id', 'bucket' = '1', 'write-only' = 'true'", f"'variant.shreddingSchema' = '{SHREDDED}'"),
        ("'row-tracking.enabled' = 'true'", "'variant.inferShreddingSchema' = 'true'"),
    ],
)
def test_shredded(engines: Engines, kind: str, how: str) -> None:
    engines.run("java", f"CREATE TABLE t (id INT, v VARIANT, s STRUCT<n: VARIANT>) TBLPROPERTIES ({kind}, {how})")
    rows = [f"({i}, parse_json('{d}'), struct(parse_json('{d}')))" for i, d in enumerate(DOCUMENTS)]
    for start in (0, 5):
        inserted = ", ".join([*rows[start:], "(99, NULL, NULL)"])
        engines.run("java", f"INSERT INTO t SELECT /*+ COALESCE(1) */ * FROM VALUES {inserted}")
    before = engines.both(f"SELECT {SHOWN} FROM t")
    assert {json.dumps(json.loads(r[1])) for r in before if r[0] == 0} == {
        json.dumps(json.loads(DOCUMENTS[0]), sort_keys=True)
    }
    engines.run("ours", "UPDATE t SET v = parse_json('{\"a\":5}') WHERE id = 2", "DELETE FROM t WHERE id = 3")
    changed = engines.both(f"SELECT {SHOWN} FROM t")
    engines.run("ours", f"CALL sys.compact(table => '{engines.database}.t', compact_strategy => 'full')")
    engines.both(f"SELECT {SHOWN} FROM t", changed)
