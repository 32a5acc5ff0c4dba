SHOW TAGS t
=>
SELECT tag_name AS tag FROM `t$tags`
---
show tags db.`t$branch_b`;
=>
SELECT tag_name AS tag FROM `db`.`t$branch_b$tags`;
