SELECT id, __paimon_search_score FROM vector_search('docs', 'embedding', array(1.0f, -2, 3e-1, .5D, 4L), 5) WHERE id > 1
=>
SELECT id, __paimon_search_score FROM docs WITH ('search.arguments'='{"column": "embedding", "vector": [1.0, -2.0, 0.3, 0.5, 4.0], "k": 5, "options": {}}') WHERE id > 1
---
SELECT * FROM a JOIN VECTOR_SEARCH("paimon.default.t", 'it\'s', ARRAY(1), 10, map('metric', 'cosine', 'x', 'y')) AS s ON a.id = s.id
=>
SELECT * FROM a JOIN paimon.default.t WITH ('search.arguments'='{"column": "it\'s", "vector": [1.0], "k": 10, "options": {"metric": "cosine", "x": "y"}}') AS s ON a.id = s.id
---
SELECT count(*) FROM vector_search('t', 'v', array(0.5), 1, 'metric = l2; ivf.nprobe=8')
=>
SELECT count(*) FROM t WITH ('search.arguments'='{"column": "v", "vector": [0.5], "k": 1, "options": {"metric": "l2", "ivf.nprobe": "8"}}')
---
SELECT vector_search(a), full_text_search(b) FROM t
=>
SELECT vector_search(a), full_text_search(b) FROM t
---
SELECT * FROM full_text_search('docs', 'body', '{"match": {"query": "it''s \\"a\\" lake"}}', 5)
=>
SELECT * FROM docs WITH ('search.arguments'='{"column": "body", "query": "{\\"match\\": {\\"query\\": \\"it\'s \\\\\\"a\\\\\\" lake\\"}}", "k": 5}')
---
SELECT * FROM Hybrid_Search('docs', array(named_struct('vector_column', 'v', 'query_vector', array(1f, -2), 'limit', 50, 'Weight', 2.0f, 'options', map('ivf.nprobe', '8'))), array(named_struct('column', 't', 'query', '{}')), 5, 'mrr')
=>
SELECT * FROM docs WITH ('search.arguments'='{"vectors": [{"vector_column": "v", "query_vector": [1.0, -2.0], "limit": 50.0, "weight": 2.0, "options": {"ivf.nprobe": "8"}}], "texts": [{"column": "t", "query": "{}"}], "k": 5, "ranker": "mrr"}')
---
SELECT q.id, r.k FROM q, LATERAL (SELECT k FROM vector_search('t', 'v', q.e, 3) x) AS r WHERE r.k > 1
=>
SELECT q.id, r.k FROM q, LATERAL (SELECT k FROM inline(paimon_nearest_rows('t', 'v', q.e, '{"k": 3, "options": {}}')) x) AS r WHERE r.k > 1
---
SELECT * FROM q JOIN LATERAL vector_search('a.t', 'it''s', transform(q.e, x -> f(x, 1)), 2, 'metric=l2') AS r
=>
SELECT * FROM q JOIN LATERAL inline(paimon_nearest_rows('a.t', 'it\'s', transform(q.e, x -> f(x, 1)), '{"k": 2, "options": {"metric": "l2"}}')) AS r
---
SELECT * FROM q, LATERAL (SELECT * FROM vector_search('t', 'v', array(q.a, 2.0), 2)) r, LATERAL (SELECT k FROM vector_search('t', 'v', array(1.0, 2.0), 2))
=>
SELECT * FROM q, LATERAL (SELECT * FROM inline(paimon_nearest_rows('t', 'v', array(q.a, 2.0), '{"k": 2, "options": {}}'))) r, LATERAL (SELECT k FROM t WITH ('search.arguments'='{"column": "v", "vector": [1.0, 2.0], "k": 2, "options": {}}'))
---
SELECT id FROM vector_search('t', 'v', array(0.5), 1) FOR VERSION AS OF 3 AS s WHERE id > 1
=>
SELECT id FROM t FOR VERSION AS OF 3 WITH ('search.arguments'='{"column": "v", "vector": [0.5], "k": 1, "options": {}}') AS s WHERE id > 1
---
SELECT * FROM a JOIN full_text_search('t', 's', 'x', 1) TIMESTAMP AS OF TIMESTAMP '2026-01-01' - INTERVAL 1 DAY JOIN vector_search('t', 'v', array(0.5), 1) VERSION AS OF 'tag'
=>
SELECT * FROM a JOIN t TIMESTAMP AS OF TIMESTAMP '2026-01-01' - INTERVAL 1 DAY WITH ('search.arguments'='{"column": "s", "query": "x", "k": 1}') JOIN t VERSION AS OF 'tag' WITH ('search.arguments'='{"column": "v", "vector": [0.5], "k": 1, "options": {}}')
---
MERGE INTO a USING vector_search('t', 'v', array(0.5), 1) VERSION AS OF 3 AS s ON a.id = s.id WHEN MATCHED THEN DELETE
=>
MERGE INTO a USING (SELECT * FROM t VERSION AS OF 3 WITH ('search.arguments'='{"column": "v", "vector": [0.5], "k": 1, "options": {}}')) AS s ON a.id = s.id WHEN MATCHED THEN DELETE
