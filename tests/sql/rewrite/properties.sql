ALTER TABLE t SET('bucket' = '2')
=>
ALTER TABLE t SET TBLPROPERTIES('bucket' = '2')
---
ALTER TABLE t SET ('bucket' = '2')
=>
ALTER TABLE t SET TBLPROPERTIES ('bucket' = '2')
---
ALTER TABLE cat.db.`a b` SET (
  'file-index.bitmap.columns' = 'gender, status'
);
=>
ALTER TABLE cat.db.`a b` SET TBLPROPERTIES (
  'file-index.bitmap.columns' = 'gender, status'
);
---
ALTER TABLE t RESET ('bucket', 'merge-engine')
=>
ALTER TABLE t UNSET TBLPROPERTIES ('bucket', 'merge-engine')
---
ALTER VIEW v SET ('k' = 'v')
=>
ALTER VIEW v SET TBLPROPERTIES ('k' = 'v')
---
ALTER DATABASE d SET ('k' = 'v')
=>
ALTER DATABASE d SET DBPROPERTIES ('k' = 'v')
---
CREATE DATABASE IF NOT EXISTS d COMMENT 'WITH (x)' WITH ('k' = 'v')
=>
CREATE DATABASE IF NOT EXISTS d COMMENT 'WITH (x)' WITH DBPROPERTIES ('k' = 'v')
---
ALTER TABLE t SET /* note */ ('a'='b')
=>
ALTER TABLE t SET TBLPROPERTIES /* note */ ('a'='b')
---
ALTER TABLE t RESET -- why, it's
 ('a')
=>
ALTER TABLE t UNSET TBLPROPERTIES -- why, it's
 ('a')
---
EXPLAIN /* x */ ALTER TABLE t SET /* y */('a'='--')
=>
EXPLAIN /* x */ ALTER TABLE t SET TBLPROPERTIES /* y */('a'='--')
---
CREATE DATABASE d WITH /*x*/ ('a'='b')
=>
CREATE DATABASE d WITH /*x*/ DBPROPERTIES ('a'='b')
