ALTER TABLE t ADD (x BYTES, y ROW<a INT, b BYTES> COMMENT 'a (row', z INT NOT NULL AFTER x);
=>
ALTER TABLE t ADD COLUMNS (x BINARY, y STRUCT<a INT, b BINARY> COMMENT 'a (row', z INT NOT NULL AFTER x);
---
ALTER TABLE db.t ADD COLUMN r ROW<a INT> FIRST
=>
ALTER TABLE db.t ADD COLUMN r STRUCT<a INT> FIRST
---
ALTER TABLE t ADD `a b` DECIMAL(10, 2)
=>
ALTER TABLE t ADD COLUMN `a b` DECIMAL(10, 2)
---
ALTER TABLE t ADD (a INT)
=>
ALTER TABLE t ADD COLUMNS (a INT)
---
ALTER TABLE t DROP a
=>
ALTER TABLE t DROP COLUMN a
---
ALTER TABLE t DROP (a, b)
=>
ALTER TABLE t DROP COLUMNS (a, b)
---
ALTER TABLE t RENAME a TO b
=>
ALTER TABLE t RENAME COLUMN a TO b
---
ALTER TABLE t ALTER COLUMN a TYPE BYTES
=>
ALTER TABLE t ALTER COLUMN a TYPE BINARY
---
ALTER TABLE t MODIFY a DOUBLE
=>
CALL sys.change_columns(table => '`t`', changes => '[{"modify": "a", "type": "DOUBLE"}]')
---
ALTER TABLE c.db.t MODIFY `a b` TIMESTAMP(3) NOT NULL COMMENT 'it''s' FIRST;
=>
CALL `c`.sys.change_columns(table => '`db`.`t`', changes => '[{"modify": "a b", "type": "TIMESTAMP(3) NOT NULL", "comment": "it\'s", "first": true}]');
---
ALTER TABLE db.t MODIFY (
  a VARBINARY(10) AFTER b,
  c ARRAY<MAP<INT, ROW(f1 BIGINT NOT NULL 'one', f2 DECIMAL(10, 2))>>
)
=>
CALL sys.change_columns(table => '`db`.`t`', changes => '[{"modify": "a", "type": "VARBINARY(10)", "after": "b"}, {"modify": "c", "type": {"type": "ARRAY", "element": {"type": "MAP", "key": "INT", "value": {"type": "ROW", "fields": [{"id": 0, "name": "f1", "type": "BIGINT NOT NULL", "description": "one"}, {"id": 1, "name": "f2", "type": "DECIMAL(10,2)"}]}}}}]')



---
ALTER TABLE t ADD (a TIMESTAMP(3), b TIMESTAMP, c MULTISET<VARCHAR> NOT NULL, d TIMESTAMP_LTZ(3), e DOUBLE PRECISION)
=>
CALL sys.change_columns(table => '`t`', changes => '[{"add": "a", "type": "TIMESTAMP(3)"}, {"add": "b", "type": "TIMESTAMP_LTZ"}, {"add": "c", "type": {"type": "MULTISET NOT NULL", "element": "STRING"}}, {"add": "d", "type": "TIMESTAMP_LTZ(3)"}, {"add": "e", "type": "DOUBLE PRECISION"}]')
---
ALTER TABLE t ADD COLUMN a BINARY(4) COMMENT 'x'
=>
CALL sys.change_columns(table => '`t`', changes => '[{"add": "a", "type": "BINARY(4)", "comment": "x"}]')
