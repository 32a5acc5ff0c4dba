SELECT id, __paimon_search_score FROM vector_search('docs', 'embedding', array(1.0f, -2, 3e-1, .5D, 4L), 5) WHERE id > 1
=>
SELECT id, __paimon_search_score FROM docs WITH ('vector-search.arguments'='{"column": "embedding", "vector": [1.0, -2.0, 0.3, 0.5, 4.0], "k": 5, "options": {}}') WHERE id > 1
---
SELECT * FROM a JOIN VECTOR_SEARCH("paimon.default.t", 'it\'s', ARRAY(1), 10, map('metric', 'cosine', 'x', 'y')) AS s ON a.id = s.id
=>
SELECT * FROM a JOIN paimon.default.t WITH ('vector-search.arguments'='{"column": "it\'s", "vector": [1.0], "k": 10, "options": {"metric": "cosine", "x": "y"}}') AS s ON a.id = s.id
---
SELECT count(*) FROM vector_search('t', 'v', array(0.5), 1, 'metric = l2; ivf.nprobe=8')
=>
SELECT count(*) FROM t WITH ('vector-search.arguments'='{"column": "v", "vector": [0.5], "k": 1, "options": {"metric": "l2", "ivf.nprobe": "8"}}')
---
SELECT vector_search(a), full_text_search(b) FROM t
=>
SELECT vector_search(a), full_text_search(b) FROM t
