INSERT INTO t VALUES (1, ARRAY[1, 2], MAP['a', 1, 'b', 2], ROW(1, 'x'), array['a'])
=>
INSERT INTO t VALUES (1, ARRAY(1, 2), MAP('a', 1, 'b', 2), struct(1, 'x'), array('a'))
---
SELECT ARRAY[ROW(a, b)], ARRAY[ARRAY[1, 2], ARRAY[]], map['k'], array[0], s.array[1] FROM t
=>
SELECT ARRAY(struct(a, b)), ARRAY(ARRAY(1, 2), ARRAY()), map['k'], array[0], s.array[1] FROM t
---
INSERT INTO t SELECT id, CAST(NULL AS ARRAY<BYTES>), TRY_CAST(a AS ROW<x INT, y VARCHAR>), CAST(b AS INT) AS bytes FROM s
=>
INSERT INTO t SELECT id, CAST(NULL AS ARRAY<BINARY>), TRY_CAST(a AS STRUCT<x INT, y STRING>), CAST(b AS INT) AS bytes FROM s
---
UPDATE t SET r = ROW(1, 2), a = CASE WHEN b THEN ROW(3, 4) ELSE CAST(NULL AS ROW(x INT, y INT)) END
=>
UPDATE t SET r = struct(1, 2), a = CASE WHEN b THEN struct(3, 4) ELSE CAST(NULL AS STRUCT<x INT, y INT>) END
