SELECT * FROM paimon_incremental_query('t', '1', '3') ORDER BY a, b
=>
SELECT * FROM t WITH ('incremental-between'='1,3') ORDER BY a, b
---
SELECT a, count(*) FROM paimon_incremental_query('paimon.default.t', 0, 3) AS x JOIN PAIMON_incremental_to_auto_tag("db.`t$audit_log`", 'it\'s') y
=>
SELECT a, count(*) FROM paimon.default.t WITH ('incremental-between'='0,3') AS x JOIN db.`t$audit_log` WITH ('incremental-to-auto-tag'='it\'s') y
---
SELECT * FROM paimon_incremental_between_timestamp(
  't$binlog', '2024-01-01 00:00:00',
  '2024-01-02'
) LIMIT 1
=>
SELECT * FROM `t$binlog` WITH ('incremental-between-timestamp'='2024-01-01 00:00:00,2024-01-02')


 LIMIT 1
---
MERGE INTO t USING paimon_incremental_query('s', 1, 2) AS x ON t.a = x.a WHEN MATCHED THEN DELETE
=>
MERGE INTO t USING (SELECT * FROM s WITH ('incremental-between'='1,2')) AS x ON t.a = x.a WHEN MATCHED THEN DELETE
