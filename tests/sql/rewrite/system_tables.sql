SELECT * FROM t$snapshots
=>
SELECT * FROM `t$snapshots`
---
SELECT s.level FROM db.t$files AS s WHERE s.file_path <> 'a$b' -- c$d
=>
SELECT s.level FROM db.`t$files` AS s WHERE s.file_path <> 'a$b' -- c$d
---
SELECT t$files.level FROM cat.db.t$branch_b1$files, `x$y`, 1t$files
=>
SELECT `t$files`.level FROM cat.db.`t$branch_b1$files`, `x$y`, `1t$files`
---
INSERT INTO t$branch_b1 SELECT * FROM `str$ing` t$x JOIN (SELECT * FROM a.t$audit_log) USING (k)
=>
INSERT INTO `t$branch_b1` SELECT * FROM `str$ing` `t$x` JOIN (SELECT * FROM a.`t$audit_log`) USING (k)
---
SHOW COLUMNS IN t$files
=>
SHOW COLUMNS IN `t$files`
---
DESCRIBE db.t$snapshots
=>
DESCRIBE db.`t$snapshots`
---
SHOW CREATE TABLE t$branch_b1
=>
SHOW CREATE TABLE `t$branch_b1`
---
WITH c AS (SELECT * FROM t$files) MERGE INTO t$branch_b1 USING c ON true WHEN MATCHED THEN UPDATE SET a = 1
=>
WITH c AS (SELECT * FROM `t$files`) MERGE INTO `t$branch_b1` USING c ON true WHEN MATCHED THEN UPDATE SET a = 1
---
SET VAR x = (SELECT max(snapshot_id) FROM t$snapshots)
=>
SET VAR x = (SELECT max(snapshot_id) FROM `t$snapshots`)
---
REFRESH TABLE t$branch_b1
=>
REFRESH TABLE `t$branch_b1`
---
ALTER TABLE t$branch_b1 SET ('bucket' = '2')
=>
ALTER TABLE `t$branch_b1` SET TBLPROPERTIES ('bucket' = '2')
---
SELECT * FROM IDENTIFIER('t$snapshots')
=>
SELECT * FROM IDENTIFIER('`t$snapshots`')
---
SELECT a FROM IDENTIFIER("c.`d`.t$branch_b$files" || '') JOIN IDENTIFIER('`t$tags`') x WHERE b = 'y$z'
=>
SELECT a FROM IDENTIFIER(regexp_replace("c.`d`.t$branch_b$files" || '', '([^`.$ ]+(?:[$][^`.$ ]+)+)(?=(?:[^`]*`[^`]*`)*[^`]*$)', '`$1`')) JOIN IDENTIFIER('`t$tags`') x WHERE b = 'y$z'
---
INSERT INTO IDENTIFIER(:t) SELECT IDENTIFIER(:c) FROM IDENTIFIER(:s) JOIN IDENTIFIER(x || upper('$y')) VERSION AS OF 1 JOIN IDENTIFIER(?)(1)
=>
INSERT INTO IDENTIFIER(:t) SELECT IDENTIFIER(:c) FROM IDENTIFIER(regexp_replace(:s, '([^`.$ ]+(?:[$][^`.$ ]+)+)(?=(?:[^`]*`[^`]*`)*[^`]*$)', '`$1`')) JOIN IDENTIFIER(x || upper('$y')) VERSION AS OF 1 JOIN IDENTIFIER(?)(1)
---
DESCRIBE TABLE EXTENDED IDENTIFIER(x || 't$files')
=>
DESCRIBE TABLE EXTENDED IDENTIFIER(regexp_replace(x || 't$files', '([^`.$ ]+(?:[$][^`.$ ]+)+)(?=(?:[^`]*`[^`]*`)*[^`]*$)', '`$1`'))
---
MERGE INTO IDENTIFIER(:t) USING IDENTIFIER(?) ON true WHEN MATCHED THEN DELETE
=>
MERGE INTO IDENTIFIER(:t) USING IDENTIFIER(regexp_replace(?, '([^`.$ ]+(?:[$][^`.$ ]+)+)(?=(?:[^`]*`[^`]*`)*[^`]*$)', '`$1`')) ON true WHEN MATCHED THEN DELETE
---
WITH w AS (TABLE IDENTIFIER(:a)) DELETE FROM IDENTIFIER(:t) WHERE a IN (SELECT a FROM w)
=>
WITH w AS (TABLE IDENTIFIER(:a)) DELETE FROM IDENTIFIER(:t) WHERE a IN (SELECT a FROM w)
---
TABLE IDENTIFIER(:a)
=>
TABLE IDENTIFIER(regexp_replace(:a, '([^`.$ ]+(?:[$][^`.$ ]+)+)(?=(?:[^`]*`[^`]*`)*[^`]*$)', '`$1`'))
---
SELECT * FROM paimon.`/data/db.db/t` AS a JOIN `Paimon` . `s3://b/t$files` AS b USING (k)
=>
SELECT * FROM paimon_path.`/data/db.db/t` AS a JOIN paimon_path . `s3://b/t$files` AS b USING (k)
---
INSERT INTO paimon.`file:/data/t` SELECT paimon.`/a`, 'paimon.`/b`' FROM paimon.`t` AS paimon
=>
INSERT INTO paimon_path.`file:/data/t` SELECT paimon.`/a`, 'paimon.`/b`' FROM paimon.`t` AS paimon
---
SELECT * FROM a.paimon.`/t` JOIN paimon.`/db`.t
=>
SELECT * FROM a.paimon.`/t` JOIN paimon.`/db`.t
