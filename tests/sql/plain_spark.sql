SELECT 1
---
SELECT 1;
---
SELECT 'a$b', "c$d", `e$f` FROM `t$snapshots`
---
SELECT 'it''s; a $x', 'it\'s', "say ""hi""", r'\d+\$x', R"a\"
---
SELECT a.`x$y`.z FROM db.`t$files` AS a
---
SELECT * FROM db.`t$files` VERSION AS OF 1
---
SELECT * FROM t TIMESTAMP AS OF '2024-01-01 00:00:00'
---
SELECT * FROM t FOR SYSTEM_VERSION AS OF 3 AS x
---
SELECT * FROM t VERSION AS OF 'tag$1'
---
SELECT * FROM t WITH ('scan.snapshot-id'='1') AS x
---
SELECT * FROM t WITH ('k' = 'v') JOIN s WITH ('k' = 'v') USING (id)
---
SELECT /*+ BROADCAST(a) */ * FROM a JOIN b ON a.id = b.id
---
SELECT /*+ BROADCAST(a), MERGE(b, c) */ /*+ COALESCE(3) */ a.* FROM a, b, c
---
SELECT /*+ REPARTITION(3, x), OPTIONS(a) */ * FROM t
---
SELECT /*+ SKEW('orders') */ * FROM orders
---
SELECT transform(xs, x -> x + 1), filter(xs, x -> x > 0), aggregate(xs, 0, (a, b) -> a + b) FROM t
---
SELECT m['k'], m['k$l'], xs[0], s.f.g FROM t
---
SELECT INTERVAL '1' DAY, INTERVAL 3 HOURS, INTERVAL '1-2' YEAR TO MONTH, INTERVAL -2 DAYS 1 HOUR
---
SELECT DATE '2024-01-01', TIMESTAMP '2024-01-01 00:00:00', TIMESTAMP_NTZ '2024-01-01 00:00:00', X'1F', x'00ff'
---
SELECT 1L, 2S, 3Y, 4.0D, 5.0F, 6.0BD, 1e10, 1.5E-3, .5, 100_000 FROM t
---
SELECT a <=> b, a <> b, a != b, a == b, a || b, a & b, a | b, a ^ b, ~a, a % b, a DIV b FROM t
---
SELECT a >> 1, a << 2, a >>> 3 FROM t
---
SELECT CAST(a AS STRUCT<x: INT, y: ARRAY<MAP<STRING, BIGINT>>>) FROM t
---
SELECT CAST(a AS TIMESTAMP), CAST(b AS TIMESTAMP_LTZ), CAST(c AS BINARY), TRY_CAST(d AS DECIMAL(10, 2)), e::STRING FROM t
---
SELECT binary(a), timestamp(b), row_number() OVER (PARTITION BY c ORDER BY d) FROM t
---
SELECT sum(x) OVER (ORDER BY y ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t
---
SELECT sum(x) OVER w FROM t WINDOW w AS (PARTITION BY y ORDER BY z RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW)
---
WITH c AS (SELECT 1 AS a) SELECT * FROM c
---
WITH c (a, b) AS (SELECT 1, 2), d AS (SELECT * FROM c) SELECT * FROM d
---
WITH RECURSIVE r (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 10) SELECT * FROM r
---
WITH c AS (SELECT 1 AS a) INSERT INTO t SELECT * FROM c
---
WITH `a$b` AS (SELECT 1) FROM `a$b` SELECT *
---
FROM t SELECT a WHERE a > 1
---
FROM t |> WHERE a > 1 |> AGGREGATE count(*) GROUP BY b |> ORDER BY b
---
TABLE t
---
VALUES (1, 'a$b'), (2, 'c;d')
---
SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v (id, name)
---
SELECT * FROM t TABLESAMPLE (10 PERCENT) AS s
---
SELECT * FROM a NATURAL JOIN b LEFT OUTER JOIN c USING (k) FULL JOIN d ON c.k = d.k CROSS JOIN e
---
SELECT * FROM a LEFT SEMI JOIN b ON a.k = b.k LEFT ANTI JOIN c ON a.k = c.k
---
SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.k = a.k)
---
SELECT * FROM a LATERAL VIEW OUTER explode(xs) x AS y LATERAL VIEW inline(zs) z AS p, q
---
SELECT * FROM range(10), explode(array(1, 2)) AS e (v)
---
SELECT * FROM t PIVOT (sum(x) FOR y IN ('a' AS p, 'b' AS q))
---
SELECT * FROM t UNPIVOT (v FOR k IN (a, b))
---
SELECT a, count(*) FROM t GROUP BY a HAVING count(*) > 1 ORDER BY a DESC NULLS LAST LIMIT 10 OFFSET 5
---
SELECT a, b, sum(c) FROM t GROUP BY GROUPING SETS ((a, b), (a), ())
---
SELECT a FROM t GROUP BY ALL ORDER BY ALL
---
SELECT a FROM t CLUSTER BY a
---
SELECT a FROM t DISTRIBUTE BY a SORT BY b
---
SELECT a FROM x UNION ALL SELECT a FROM y INTERSECT SELECT a FROM z EXCEPT SELECT a FROM w MINUS SELECT 1
---
SELECT CASE WHEN a THEN 'x' WHEN b THEN 'y' ELSE NULL END AS `case` FROM t
---
SELECT CASE a WHEN 1 THEN 'one' END FROM t
---
SELECT * FROM t WHERE a LIKE '%$%' ESCAPE '!' AND b RLIKE 'x$' AND c ILIKE ANY ('a$', 'b')
---
SELECT * FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.k = t.k) AND a IN (SELECT b FROM u) AND NOT c BETWEEN 1 AND 2
---
SELECT * FROM t WHERE a IS DISTINCT FROM b AND c IS NOT NULL AND d IS TRUE
---
SELECT * EXCEPT (a, b) FROM t
---
SELECT t.*, s.a AS b, 'x' y FROM t CROSS JOIN s
---
SELECT DISTINCT a, b FROM t
---
SELECT count(DISTINCT a) FILTER (WHERE b > 1), percentile_cont(0.5) WITHIN GROUP (ORDER BY c) FROM t
---
SELECT named_struct('a', 1, 'b', 'x').a, struct(1, 2).col1, map('k', 1)['k'], array(1, 2)[0]
---
SELECT json:a.b[0]::INT FROM t
---
SELECT :name, :id + 1 FROM t WHERE x = :x
---
SELECT ? FROM t WHERE x = ?
---
SELECT '${not a variable', "$x", '$', '$$', 'a$b$c'
---
SELECT 1 -- WITH ('k'='v') t$files
---
SELECT 1 /* t$files /* nested */ PRIMARY KEY */ AS a
---
-- CREATE TABLE t (k INT PRIMARY KEY)
SELECT 1
---
/* SET a-b=1; */ SELECT 1
---
SELECT 1 -- a comment that goes on \
  t$files still comment
---
SELECT `CREATE TABLE t (a BYTES) WITH ('x'='y')` FROM t
---
SELECT 'CREATE TABLE t (a BYTES) WITH (''x''=''y'')'
---
SELECT "SET a-b=1; USE CATALOG c"
---
SELECT extract(YEAR FROM ts), trim(BOTH 'x' FROM s), substring(s FROM 1 FOR 2), position('a' IN s), overlay(s PLACING 'x' FROM 1) FROM t
---
SELECT current_date, current_timestamp, current_user, current_catalog()
---
SELECT timestampadd(HOUR, 1, ts), datediff(DAY, a, b) FROM t
---
SELECT identifier('a' || 'b') FROM identifier('t')
---
SELECT aes_encrypt('x$y', 'k'), regexp_replace(a, '(\\d+)$', '$1') FROM t
---
CREATE TABLE t (a INT, b STRING)
---
CREATE TABLE t (a INT NOT NULL COMMENT 'the key', b STRING DEFAULT 'x$y') USING paimon
---
CREATE TABLE t (a INT, b STRING) USING paimon PARTITIONED BY (b) TBLPROPERTIES ('primary-key' = 'a,b', 'bucket' = '2')
---
CREATE TABLE t (a INT, b STRING) PARTITIONED BY (b) COMMENT 'x' TBLPROPERTIES (k = 'v', a.b = 1, flag = true)
---
CREATE TABLE IF NOT EXISTS db.t (a STRUCT<x: INT COMMENT 'the x', y: STRING NOT NULL>, m MAP<STRING, ARRAY<INT>>)
---
CREATE TABLE t (a TIMESTAMP, b TIMESTAMP_NTZ, c TIMESTAMP_LTZ, d BINARY, e TIMESTAMP WITHOUT TIME ZONE)
---
CREATE TABLE t (a TIMESTAMP(6), b TIMESTAMP_LTZ(6))
---
CREATE TABLE t (a DECIMAL(10, 2), b VARCHAR(10), c CHAR(3), d INTERVAL DAY TO SECOND, e VARIANT)
---
CREATE TABLE t (a INT, primary STRING, key STRING, `row` INT, bytes INT, multiset STRING)
---
CREATE TABLE t (id BIGINT GENERATED ALWAYS AS IDENTITY, a INT GENERATED ALWAYS AS (b + 1), b INT)
---
CREATE TABLE t (a INT, CHECK (a > 1))
---
CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE) USING parquet
---
CREATE TABLE t (a INT, PRIMARY KEY (a)) USING delta TBLPROPERTIES ('k' = 'v')
---
CREATE TABLE t (a INT) USING parquet OPTIONS ('compression' = 'zstd') LOCATION '/tmp/a$b'
---
CREATE TABLE t (a INT) USING orc CLUSTERED BY (a) SORTED BY (a) INTO 4 BUCKETS
---
CREATE TABLE t (a INT) PARTITIONED BY (bucket(4, a), days(ts), truncate(2, s))
---
CREATE TABLE t CLUSTER BY (a) AS SELECT 1 AS a
---
CREATE TABLE t (a INT) ROW FORMAT SERDE 'x.Y' WITH SERDEPROPERTIES ('k' = 'v') STORED AS TEXTFILE
---
CREATE EXTERNAL TABLE t (a INT) STORED AS PARQUET LOCATION '/tmp/x'
---
CREATE TABLE t AS SELECT 1 AS a
---
CREATE TABLE t SELECT 1 AS a
---
CREATE TABLE t (SELECT 1 AS a)
---
CREATE TABLE t USING paimon TBLPROPERTIES ('bucket' = '1') AS WITH c AS (SELECT 1 AS a) SELECT * FROM c
---
CREATE TABLE t AS WITH c AS (SELECT binary(a) AS b FROM s WITH ('k' = 'v')) SELECT * FROM c
---
CREATE TABLE t WITH c AS (SELECT 1 AS a) SELECT * FROM c
---
CREATE TABLE t AS WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r
---
CREATE OR REPLACE TABLE t USING paimon AS SELECT * FROM s
---
REPLACE TABLE t AS SELECT CAST(a AS BINARY) FROM s
---
CREATE TABLE t LIKE s
---
CREATE TABLE t LIKE s USING paimon TBLPROPERTIES ('k' = 'v')
---
CREATE VIEW v AS SELECT 'WITH (x)' AS a FROM `t$files`
---
CREATE OR REPLACE VIEW v (a COMMENT 'x') COMMENT 'y' TBLPROPERTIES ('k' = 'v') AS WITH c AS (SELECT 1) SELECT * FROM c
---
CREATE OR REPLACE TEMPORARY VIEW v AS SELECT binary('a'), row_number() OVER (ORDER BY a) FROM t
---
CREATE TEMPORARY VIEW v USING parquet OPTIONS (path '/tmp/a$b')
---
CREATE VIEW v WITH METRICS LANGUAGE YAML AS $$ a: b$c $$
---
CREATE FUNCTION f (a INT) RETURNS INT RETURN a + 1
---
CREATE TEMPORARY FUNCTION f AS 'x.Y$Z' USING JAR '/a$b.jar'
---
CREATE DATABASE IF NOT EXISTS d COMMENT 'x' LOCATION '/tmp/d' WITH DBPROPERTIES ('k' = 'v')
---
CREATE NAMESPACE c.d WITH PROPERTIES ('k' = 'v')
---
ALTER TABLE t SET TBLPROPERTIES ('bucket' = '2')
---
ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('bucket')
---
ALTER TABLE t ADD COLUMNS (b STRING COMMENT 'x' AFTER a, c INT FIRST)
---
ALTER TABLE t ADD COLUMN s.x INT
---
ALTER TABLE t RENAME COLUMN a TO b
---
ALTER TABLE t ALTER COLUMN a TYPE BIGINT
---
ALTER TABLE t ALTER COLUMN a SET DEFAULT (1 + 2)
---
ALTER TABLE t ALTER COLUMN a SET NOT NULL
---
ALTER TABLE t DROP COLUMNS (a, b)
---
ALTER TABLE t RENAME TO s
---
ALTER TABLE t DROP IF EXISTS PARTITION (dt = '2024', hh = 1), PARTITION (dt = 'x$y')
---
ALTER TABLE t ADD CONSTRAINT c CHECK (a > 1)
---
ALTER TABLE t SET LOCATION '/tmp/a$b'
---
ALTER TABLE t SET SERDEPROPERTIES ('k' = 'v')
---
ALTER DATABASE d SET DBPROPERTIES ('k' = 'v')
---
ALTER VIEW v AS SELECT 1
---
DROP TABLE IF EXISTS t PURGE
---
DROP DATABASE d CASCADE
---
TRUNCATE TABLE t PARTITION (dt = 'x')
---
ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a, b
---
MSCK REPAIR TABLE t SYNC PARTITIONS
---
REFRESH TABLE `t$files`
---
REFRESH '/tmp/a$b'
---
REFRESH /tmp/a$b
---
CACHE LAZY TABLE c OPTIONS ('storageLevel' 'DISK_ONLY') AS SELECT 1
---
INSERT INTO t VALUES (1, 'a$b'), (2, "c;d")
---
INSERT INTO t (a, b) SELECT a, b FROM s
---
INSERT INTO t BY NAME SELECT 1 AS a
---
INSERT INTO t WITH ('k' = 'v') VALUES (1)
---
INSERT OVERWRITE t PARTITION (dt = '2024', hh) SELECT a, hh FROM s
---
INSERT OVERWRITE TABLE t SELECT /*+ REPARTITION(2) */ * FROM s
---
INSERT INTO t REPLACE WHERE a = 1 SELECT * FROM s
---
INSERT OVERWRITE DIRECTORY '/tmp/a$b' USING parquet SELECT * FROM t
---
FROM t INSERT INTO a SELECT x INSERT INTO b SELECT y
---
UPDATE t SET a = 1, b = b || '$x' WHERE c = 2
---
DELETE FROM t AS x WHERE x.a = 'b$c'
---
MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND s.op = 'D' THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 0
---
MERGE WITH SCHEMA EVOLUTION INTO t AS a USING (SELECT * FROM s) AS b ON a.k = b.k WHEN MATCHED THEN UPDATE SET a.v = b.v
---
CALL sys.compact('t')
---
CALL paimon.sys.compact(table => 'default.t', options => 'a=b,c=d')
---
CALL sys.create_tag(`table` => 't', tag => '2024$x', snapshot => 1L);
---
CALL `paimon`.`sys`.`compact`(TABLE => 't', partitions => 'dt=1;dt=2')
---
SET
---
SET -v
---
SET spark.sql.shuffle.partitions
---
SET spark.sql.shuffle.partitions=4
---
SET spark.paimon.branch = a-b$c
---
SET `spark.paimon.scan.snapshot-id`=1
---
SET `spark.paimon.*.*.T1.scan.snapshot-id` = 1;
---
SET `a-b` = `c;d`
---
SET TIME ZONE 'UTC'
---
SET TIME ZONE LOCAL
---
SET CATALOG paimon
---
SET VAR x = 1
---
RESET
---
RESET `spark.paimon.scan.snapshot-id`
---
RESET spark.sql.shuffle.partitions
---
USE paimon.db
---
USE DATABASE db
---
USE catalog
---
USE catalog.db
---
SHOW TABLES IN db LIKE 't*'
---
SHOW TABLE EXTENDED IN db LIKE 't'
---
SHOW PARTITIONS t PARTITION (dt = 'a$b')
---
SHOW TBLPROPERTIES t ('primary-key')
---
SHOW CREATE TABLE db.t
---
SHOW COLUMNS IN `t$files`
---
DESCRIBE EXTENDED t
---
DESCRIBE QUERY WITH c AS (SELECT 1) SELECT * FROM c
---
EXPLAIN FORMATTED SELECT * FROM t WHERE a = 'x$y'
---
EXPLAIN SET a=b$c
---
ADD JAR /tmp/a$b.jar
---
LIST JARS a$b
---
DECLARE OR REPLACE VARIABLE x INT DEFAULT 1
---
EXECUTE IMMEDIATE 'SELECT ?' USING 1
---
BEGIN
  DECLARE x INT DEFAULT 1;
  IF x = 1 THEN SET x = 2; END IF;
  SELECT x;
END
---
SELECT array[0], map['k'], array[i + 1].f, array[array[0]] FROM t
---
INSERT INTO row (a, b) SELECT row, array['k'] FROM t AS row
---
SELECT CAST(a AS VARCHAR(10)), CAST(b AS BINARY), CAST(c AS STRUCT<x: INT>) AS bytes FROM t
---
SELECT * FROM t, UNNEST(array(1, 2)) AS u (x), LATERAL UNNEST(t.arr) AS v (y)
---
SELECT id, UNNEST(arr) AS x, unnest(arr) FROM t
