SET spark.paimon.scan.snapshot-id=1
=>
SET `spark.paimon.scan.snapshot-id`=1
---
-- look back
SET spark.paimon.*.*.T1.scan.snapshot-id = 1;
=>
-- look back
SET `spark.paimon.*.*.T1.scan.snapshot-id` = 1;
---
SET spark.paimon.scan.snapshot-id
=>
SET `spark.paimon.scan.snapshot-id`
---
SET spark.paimon.scan-timestamp=2024-01-01 00:00:00
=>
SET `spark.paimon.scan-timestamp`=2024-01-01 00:00:00
---
RESET spark.paimon.scan.snapshot-id
=>
RESET `spark.paimon.scan.snapshot-id`
---
SET 'execution.runtime-mode' = 'batch';
=>
SET `execution.runtime-mode` = `batch`;
---
SET 'k' = v;
=>
SET `k` = v;
---
SET 'k' = 'a`b;c'
=>
SET `k` = `a``b;c`
---
RESET 'execution.runtime-mode'
=>
RESET `execution.runtime-mode`
---
USE CATALOG c
=>
SET CATALOG c
---
USE CATALOG `a b`;
=>
SET CATALOG `a b`;
---
SET 'scan.snapshot-id' = '1'
=>
SET `spark.paimon.scan.snapshot-id` = `1`
---
SET 'paimon.*.default.T.scan.timestamp-millis' = '1697018249000';
=>
SET `spark.paimon.*.default.T.scan.timestamp-millis` = `1697018249000`;
---
RESET 'paimon.c.default.T.scan.snapshot-id'
=>
RESET `spark.paimon.c.default.T.scan.snapshot-id`
---
SHOW CREATE VIEW v
=>
SHOW CREATE TABLE v
---
show create view c.db.`a b`;
=>
show create TABLE c.db.`a b`;
