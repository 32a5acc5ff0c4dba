SELECT id, x FROM t, UNNEST(arr) AS u (x), UNNEST(t.rs) AS r(a, `b`)
=>
SELECT id, x FROM t, LATERAL UNNEST(arr) AS u (x), LATERAL INLINE(t.rs) AS r(a, `b`)
---
SELECT * FROM t CROSS JOIN unnest(split(t.s, ',')) u(x) LEFT JOIN UNNEST(rs) AS r (a, b) ON TRUE
=>
SELECT * FROM t CROSS JOIN LATERAL unnest(split(t.s, ',')) u(x) LEFT JOIN LATERAL INLINE(rs) AS r (a, b) ON TRUE
---
SELECT x, o FROM t CROSS JOIN UNNEST(arr) WITH ORDINALITY AS u (x, o)
=>
SELECT x, o FROM t CROSS JOIN LATERAL UNNEST(arr) WITH ORDINALITY AS u (x, o)
