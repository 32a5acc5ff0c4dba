CREATE TABLE t (a INT, b STRING) WITH ('bucket' = '4')
=>
CREATE TABLE t (a INT, b STRING) TBLPROPERTIES ('bucket' = '4')
---
CREATE TABLE IF NOT EXISTS db.t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) COMMENT 'a table' WITH ('bucket' = '4')
=>
CREATE TABLE IF NOT EXISTS db.t (k INT, v STRING) COMMENT 'a table' TBLPROPERTIES ('primary-key'='k', 'bucket' = '4')
---
CREATE TABLE T (
  dt STRING,
  shop_id BIGINT,
  total INT, -- in cents
  PRIMARY KEY (dt, shop_id) NOT ENFORCED -- the key
) PARTITIONED BY (dt) WITH (
  'bucket' = '4',
  'merge-engine' = 'first-row'
);
=>
CREATE TABLE T (
  dt STRING,
  shop_id BIGINT,
  total INT
 -- the key
) PARTITIONED BY (dt) TBLPROPERTIES ('primary-key'='dt,shop_id', 
  'bucket' = '4',
  'merge-engine' = 'first-row'
);
---
CREATE OR REPLACE TABLE cat.db.`my table` (`a b` INT, `c'd` INT, PRIMARY KEY (`a b`, `c'd`) NOT ENFORCED) WITH ('k'='v')
=>
CREATE OR REPLACE TABLE cat.db.`my table` (`a b` INT, `c'd` INT) TBLPROPERTIES ('primary-key'='a b,c\'d', 'k'='v')
---
REPLACE TABLE t (k INT NOT NULL) PARTITIONED BY (k) WITH ('bucket'='1')
=>
REPLACE TABLE t (k INT NOT NULL) PARTITIONED BY (k) TBLPROPERTIES ('bucket'='1')
---
CREATE TABLE t (PRIMARY KEY (k) NOT ENFORCED, k INT) WITH ('bucket'='1')
=>
CREATE TABLE t ( k INT) TBLPROPERTIES ('primary-key'='k', 'bucket'='1')
---
CREATE TABLE t (PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket'='1') AS SELECT 1 AS k
=>
CREATE TABLE t  TBLPROPERTIES ('primary-key'='k', 'bucket'='1') AS SELECT 1 AS k
---
CREATE TABLE t (PRIMARY KEY (k) NOT ENFORCED) AS SELECT 1 AS k
=>
CREATE TABLE t  TBLPROPERTIES ('primary-key'='k') AS SELECT 1 AS k
---
CREATE TABLE t WITH ('bucket'='1') AS WITH c AS (SELECT 1 AS k) SELECT * FROM c
=>
CREATE TABLE t TBLPROPERTIES ('bucket'='1') AS WITH c AS (SELECT 1 AS k) SELECT * FROM c
---
CREATE TABLE t (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('primary-key' = 'k')
=>
CREATE TABLE t (k INT) TBLPROPERTIES ('primary-key' = 'k')
---
CREATE TABLE t (k INT, j INT, PRIMARY KEY (k, j) NOT ENFORCED) WITH ('primary-key' = 'K, j')
=>
CREATE TABLE t (k INT, j INT) TBLPROPERTIES ('primary-key' = 'K, j')
---
CREATE TABLE t (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ()
=>
CREATE TABLE t (k INT) TBLPROPERTIES ('primary-key'='k')
---
CREATE TABLE t (k INT) WITH () COMMENT 'no options'
=>
CREATE TABLE t (k INT)  COMMENT 'no options'
---
CREATE TABLE t LIKE s WITH ('bucket'='2')
=>
CREATE TABLE t LIKE s TBLPROPERTIES ('bucket'='2')
---
CREATE TABLE t (a DOUBLE PRECISION, b ARRAY<DOUBLE PRECISION> NOT NULL, c DOUBLE)
=>
CREATE TABLE t (a DOUBLE, b ARRAY<DOUBLE> NOT NULL, c DOUBLE)
---
CREATE TABLE t LIKE s (INCLUDING ALL)
=>
CREATE TABLE t LIKE s 
---
CREATE TABLE t LIKE db.s (EXCLUDING OPTIONS, EXCLUDING CONSTRAINTS)
=>
CREATE TABLE t LIKE db.s TBLPROPERTIES ('paimon-sql.excluded'='constraints,options')
---
CREATE TABLE IF NOT EXISTS db.t WITH ('bucket' = '2') LIKE s (EXCLUDING ALL INCLUDING CONSTRAINTS OVERWRITING WATERMARKS)
=>
CREATE TABLE IF NOT EXISTS db.t LIKE `s` TBLPROPERTIES ('paimon-sql.excluded'='options,partitions', 'bucket' = '2') 
---
CREATE TABLE t WITH ('bucket' = '2')
LIKE c.db.`s x`;
=>
CREATE TABLE t LIKE `c`.`db`.`s x` TBLPROPERTIES ('bucket' = '2')
;
---
EXPLAIN EXTENDED CREATE TABLE t (k INT) WITH ('bucket'='2')
=>
EXPLAIN EXTENDED CREATE TABLE t (k INT) TBLPROPERTIES ('bucket'='2')
---
/* {"app": "dbt"} */ -- WITH ('x'='y')
CREATE TABLE t (k INT) /* between */ WITH -- options
 ('bucket'='2')
=>
/* {"app": "dbt"} */ -- WITH ('x'='y')
CREATE TABLE t (k INT) /* between */ TBLPROPERTIES -- options
 ('bucket'='2')
---
CREATE TABLE IDENTIFIER('t') (k INT) USING paimon WITH ('bucket'='2')
=>
CREATE TABLE IDENTIFIER('t') (k INT) USING paimon TBLPROPERTIES ('bucket'='2')
---
CREATE TABLE t (a INT DEFAULT (1 + 2), b STRING DEFAULT 'WITH (x)' COMMENT 'PRIMARY KEY', key INT) WITH ('bucket'='2')
=>
CREATE TABLE t (a INT DEFAULT (1 + 2), b STRING DEFAULT 'WITH (x)' COMMENT 'PRIMARY KEY', key INT) TBLPROPERTIES ('bucket'='2')
---
CREATE TABLE t (k INT PRIMARY KEY NOT ENFORCED, f0 INT, f1 STRING)
=>
CREATE TABLE t (k INT, f0 INT, f1 STRING) TBLPROPERTIES ('primary-key'='k')
---
CREATE TABLE t (id BIGINT NOT NULL CONSTRAINT `my key` PRIMARY KEY NOT ENFORCED RELY COMMENT 'the id', v STRING)
=>
CREATE TABLE t (id BIGINT NOT NULL COMMENT 'the id', v STRING) TBLPROPERTIES ('primary-key'='id')
---
CREATE TABLE t (k INT PRIMARY KEY NOT NULL, f0 INT)
=>
CREATE TABLE t (k INT NOT NULL, f0 INT) TBLPROPERTIES ('primary-key'='k')
---
CREATE TABLE t (k INT, CONSTRAINT pk PRIMARY KEY (k) NORELY, CHECK (k > 1), v STRING) USING paimon LOCATION '/tmp/t'
=>
CREATE TABLE t (k INT, CHECK (k > 1), v STRING) USING paimon TBLPROPERTIES ('primary-key'='k') LOCATION '/tmp/t'
---
CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) PARTITIONED BY (k) TBLPROPERTIES ('bucket'='2')
=>
CREATE TABLE t (k INT, v STRING) PARTITIONED BY (k) TBLPROPERTIES ('primary-key'='k', 'bucket'='2')
---
CREATE TABLE t (a VARCHAR, b DOUBLE -- c
 PRECISION)
=>
CREATE TABLE t (a STRING, b DOUBLE
)
---
CREATE TABLE t (a TIMESTAMP /* ms */ (6)) WITH /*x*/ ('k' = 'v')
=>
CREATE TABLE t (a TIMESTAMP_NTZ) TBLPROPERTIES /*x*/ ('k' = 'v')
