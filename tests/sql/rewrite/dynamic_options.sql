SELECT * FROM t /*+ OPTIONS('scan.snapshot-id'='1') */
=>
SELECT * FROM t WITH ('scan.snapshot-id'='1')
---
SELECT * FROM db.t /*+ OPTIONS('scan.snapshot-id' = '1', 'scan.mode' = 'from-snapshot') */ AS x WHERE x.a = 1
=>
SELECT * FROM db.t WITH ('scan.snapshot-id' = '1', 'scan.mode' = 'from-snapshot') AS x WHERE x.a = 1
---
SELECT /*+ BROADCAST(b) */ * FROM a /*+ options('k'='v') */ JOIN t$files /*+OPTIONS ('k'='v')*/ b, c /*+ OPTIONS('k'='v') */ z
=>
SELECT /*+ BROADCAST(b) */ * FROM a WITH ('k'='v') JOIN `t$files` WITH  ('k'='v') b, c WITH ('k'='v') z
---
SELECT * FROM t /*+ OPTIONS() */ x
=>
SELECT * FROM t  x
---
INSERT OVERWRITE t /*+ OPTIONS('dynamic-partition-overwrite'='false') */ PARTITION (dt = 'x') SELECT 1
=>
INSERT OVERWRITE t WITH ('dynamic-partition-overwrite'='false') PARTITION (dt = 'x') SELECT 1
---
INSERT INTO t /*+ OPTIONS('k'='v') */ (a, b) VALUES (1, 2)
=>
INSERT INTO t WITH ('k'='v') (a, b) VALUES (1, 2)
---
UPDATE t /*+ OPTIONS('k'='v') */ SET a = 1
=>
UPDATE t WITH ('k'='v') SET a = 1
---
SELECT * FROM (SELECT * FROM t /*+
  OPTIONS('incremental-between' = '12,20') -- two snapshots
*/ ) WHERE a IN (SELECT a FROM s /*+ OPTIONS('k'='v') */)
=>
SELECT * FROM (SELECT * FROM t WITH 
('incremental-between' = '12,20')
 ) WHERE a IN (SELECT a FROM s WITH ('k'='v'))
---
SELECT * FROM db.t /*+ OPTIONS('a'='b', 'c' = 'it''s') */ FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01 00:00:00' AS x WHERE a = 1
=>
SELECT * FROM db.t  FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01 00:00:00' WITH ('a'='b','c'='it''s') AS x WHERE a = 1
---
SELECT * FROM t /*+ OPTIONS('a'='b') */ TIMESTAMP AS OF current_timestamp() - INTERVAL 1 DAY x JOIN s /*+ OPTIONS('a'='b') */ VERSION AS OF 1
=>
SELECT * FROM t  TIMESTAMP AS OF current_timestamp() - INTERVAL 1 DAY WITH ('a'='b') x JOIN s  VERSION AS OF 1 WITH ('a'='b')
---
SELECT * FROM t FOR VERSION AS OF 'tag' /*+ OPTIONS('a'='b') */ x
=>
SELECT * FROM t FOR VERSION AS OF 'tag' WITH ('a'='b') x
