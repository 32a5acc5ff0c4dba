CREATE TABLE t (a BYTES, b VARBINARY(10), c BINARY(4), d BINARY, bytes INT, `ROW` STRING)
=>
CREATE TABLE t (a BINARY, b BINARY, c BINARY, d BINARY, bytes INT, `ROW` STRING) TBLPROPERTIES ('paimon-sql.declared-types'='[[["b"], "VARBINARY(10)"], [["c"], "BINARY(4)"]]')
---
CREATE TABLE t (k INT, ts TIMESTAMP(3)) WITH ('bucket' = '1')
=>
CREATE TABLE t (k INT, ts TIMESTAMP_NTZ) TBLPROPERTIES ('paimon-sql.declared-types'='[[["ts"], "TIMESTAMP(3)"]]', 'bucket' = '1')
---
CREATE TABLE t (a TIMESTAMP_LTZ(9), b TIMESTAMP(0) WITH LOCAL TIME ZONE, c TIMESTAMP(9) WITHOUT TIME ZONE, d TIMESTAMP)
=>
CREATE TABLE t (a TIMESTAMP_LTZ, b TIMESTAMP_LTZ, c TIMESTAMP_NTZ, d TIMESTAMP) TBLPROPERTIES ('paimon-sql.declared-types'='[[["a"], "TIMESTAMP(9) WITH LOCAL TIME ZONE"], [["b"], "TIMESTAMP(0) WITH LOCAL TIME ZONE"], [["c"], "TIMESTAMP(9)"]]')
---
CREATE TABLE t (k INT, a TIMESTAMP(6), b TIMESTAMP_LTZ(6)) WITH ('bucket' = '1')
=>
CREATE TABLE t (k INT, a TIMESTAMP_NTZ, b TIMESTAMP_LTZ) TBLPROPERTIES ('bucket' = '1')
---
CREATE TABLE t (r ROW<a INT, `b c` STRING NOT NULL>, row ROW<x: INT> NOT NULL COMMENT 'a row')
=>
CREATE TABLE t (r STRUCT<a INT, `b c` STRING NOT NULL>, row STRUCT<x: INT> NOT NULL COMMENT 'a row')
---
CREATE TABLE t (r ROW(a INT 'the a', b ROW<c BYTES, d ARRAY<MULTISET<ROW(z TIMESTAMP(3))>>>))
=>
CREATE TABLE t (r STRUCT<a INT COMMENT 'the a', b STRUCT<c BINARY, d ARRAY<MAP<STRUCT<z TIMESTAMP_NTZ>, INT>>>>) TBLPROPERTIES ('paimon-sql.declared-types'='[[["r", "b", "d", "element"], "MULTISET"], [["r", "b", "d", "element", "key", "z"], "TIMESTAMP(3)"]]')
---
CREATE TABLE t (m MAP<BYTES, ARRAY<VARBINARY(2)>>, s STRUCT<a: DECIMAL(10, 2), b: BYTES COMMENT 'x'>)
=>
CREATE TABLE t (m MAP<BINARY, ARRAY<BINARY>>, s STRUCT<a: DECIMAL(10, 2), b: BINARY COMMENT 'x'>) TBLPROPERTIES ('paimon-sql.declared-types'='[[["m", "value", "element"], "VARBINARY(2)"]]')
---
CREATE TABLE t (`ключ` MULTISET<STRING>, PRIMARY KEY (`ключ`) NOT ENFORCED)
=>
CREATE TABLE t (`ключ` MAP<STRING, INT>) TBLPROPERTIES ('primary-key'='ключ', 'paimon-sql.declared-types'='[[["ключ"], "MULTISET"]]')
---
CREATE TABLE t (a VARCHAR, b MAP<VARCHAR(3), VARCHAR>)
=>
CREATE TABLE t (a STRING, b MAP<VARCHAR(3), STRING>)
