COPY INTO db.t FROM '/data/csv' FILE_FORMAT = (TYPE = CSV);
=>
CALL sys.copy_into_table(table => '`db`.`t`', source => '/data/csv', format => '{"TYPE": "CSV"}');
---
COPY INTO cat.db.`my t` (a, `b c`)
FROM '/data/json'
FILE_FORMAT = (type = json, NULL_IF = ('NULL', '\\N', ''), MULTI_LINE = TRUE)
PATTERN = '.*[.]json'
FORCE = TRUE ON_ERROR = skip_file
=>
CALL `cat`.sys.copy_into_table(table => '`db`.`my t`', columns => '["a", "b c"]', source => '/data/json', format => '{"TYPE": "json", "NULL_IF": ["NULL", "\\\\N", ""], "MULTI_LINE": "TRUE"}', pattern => '.*[.]json', force => true, on_error => 'SKIP_FILE')




---
COPY INTO '/out' FROM t$snapshots FILE_FORMAT = (TYPE = PARQUET, COMPRESSION = gzip) OVERWRITE = FALSE
=>
CALL sys.copy_into_files(target => '/out', query => 'TABLE `t$snapshots`', format => '{"TYPE": "PARQUET", "COMPRESSION": "gzip"}', overwrite => false)
---
COPY INTO '/out' FROM (SELECT 'a)' AS x FROM t WHERE y IN (1, 2)) FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 1)
=>
CALL sys.copy_into_files(target => '/out', query => 'SELECT \'a)\' AS x FROM t WHERE y IN (1, 2)', format => '{"TYPE": "CSV", "SKIP_HEADER": "1"}')
