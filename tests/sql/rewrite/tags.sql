SHOW TAGS t
=>
SELECT tag_name AS tag FROM `t$tags`
---
show tags db.`t$branch_b`;
=>
SELECT tag_name AS tag FROM `db`.`t$branch_b$tags`;
---
ALTER TABLE t CREATE TAG `2024-10-12`
=>
CALL sys.make_tag(table => '`t`', tag => '2024-10-12', mode => 'create')
---
ALTER TABLE c.db.t CREATE TAG IF NOT EXISTS x AS OF VERSION 3
  RETAIN 7 DAYS
=>
CALL `c`.sys.make_tag(table => '`db`.`t`', tag => 'x', mode => 'if_not_exists', snapshot => 3, time_retained => '7 days')

---
ALTER TABLE t CREATE OR REPLACE TAG x
=>
CALL sys.make_tag(table => '`t`', tag => 'x', mode => 'create_or_replace')
---
ALTER TABLE t REPLACE TAG x RETAIN 12 HOURS
=>
CALL sys.make_tag(table => '`t`', tag => 'x', mode => 'replace', time_retained => '12 hours')
---
ALTER TABLE t DELETE TAG `a, b`
=>
CALL sys.delete_tags(table => '`t`', tags => 'a, b', if_exists => false)
---
ALTER TABLE t DELETE TAG IF EXISTS a
=>
CALL sys.delete_tags(table => '`t`', tags => 'a', if_exists => true)
---
ALTER TABLE t RENAME TAG a TO `b'\`
=>
CALL sys.name_tag(table => '`t`', tag => 'a', target_tag => 'b\'\\')
