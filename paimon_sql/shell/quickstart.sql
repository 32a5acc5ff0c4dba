-- A table with a primary key in twenty lines: create, upsert, query, time travel, compact, inspect.
--     paimon-sql quickstart -w my-warehouse
CREATE DATABASE IF NOT EXISTS quickstart;
USE quickstart;
DROP TABLE IF EXISTS orders;
CREATE TABLE orders (id BIGINT, customer STRING, amount DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED)
WITH ('bucket' = '1', 'write-only' = 'true');

INSERT INTO orders VALUES (1, 'Ada', 12.50), (2, 'Ben', 20.00), (3, 'Cy', 7.25);

-- An upsert: order 2 is replaced, order 4 is new. Expect four orders, Ben's at 25.00.
INSERT INTO orders VALUES (2, 'Ben', 25.00), (4, 'Dee', 3.00);
SELECT * FROM orders ORDER BY id;

-- As it was after the first INSERT: three orders, Ben's at 20.00.
SELECT * FROM orders VERSION AS OF 1 ORDER BY id;

-- Merge the two sorted runs into one file. Expect snapshots 1 and 2 of kind APPEND, 3 of kind COMPACT; one file of 4 records.
CALL sys.compact(table => 'quickstart.orders');
SELECT snapshot_id, commit_kind, total_record_count FROM `orders$snapshots` ORDER BY snapshot_id;
SELECT level, record_count, min_key, max_key FROM `orders$files`;
