SHOW TAGS t
=>
SELECT tag_name AS tag FROM `t$tags`
---
show tags db.`t$branch_b`;
=>
SELECT tag_name AS tag FROM `db`.`t$branch_b$tags`;
---
SHOW TAGS IDENTIFIER(:n)
=>
SELECT tag_name AS tag FROM IDENTIFIER(regexp_replace(concat(:n, '$tags'), '`([^`]+)`([$]tags)$|([^`.]+[$]tags)$', '`$1$2$3`'))
