"""Attempts to write, delete or run something at a server that only reads: by statement, by call and by request.

Each statement and call has to be refused. `{folder}` is the place that it tries to change.
"""

from __future__ import annotations

from collections.abc import Iterator

WRITES = """
INSERT INTO t VALUES (2, 'b')
INSERT OVERWRITE t VALUES (2, 'b')
FROM t INSERT INTO t SELECT k, v
WITH s AS (SELECT 2 AS k, 'b' AS v) INSERT INTO t SELECT * FROM s
DELETE FROM t WHERE k = 1
UPDATE t SET v = 'x'
MERGE INTO t USING (SELECT 1 AS k, 'c' AS v) AS s ON t.k = s.k WHEN MATCHED THEN DELETE
TRUNCATE TABLE t
CREATE TABLE u (k INT)
CREATE TABLE u LIKE t
CREATE TABLE u AS SELECT * FROM t
CREATE OR REPLACE TABLE t AS SELECT 1 AS k
REPLACE TABLE t (k INT)
ALTER TABLE t ADD COLUMN w INT
ALTER TABLE t DROP COLUMN v
ALTER TABLE t RENAME COLUMN v TO w
ALTER TABLE t SET TBLPROPERTIES ('write-only' = 'true')
ALTER TABLE t UNSET TBLPROPERTIES ('bucket')
ALTER TABLE t RENAME TO u
ALTER TABLE t CREATE TAG now
COMMENT ON TABLE t IS 'attacked'
DROP TABLE t
DROP TABLE IF EXISTS t PURGE
CREATE DATABASE d
ALTER DATABASE `default` SET DBPROPERTIES ('a' = 'b')
DROP DATABASE `default` CASCADE
CREATE VIEW w AS SELECT 1 AS k
CREATE FUNCTION f(x INT) RETURNS INT RETURN x
CALL sys.compact(table => 'default.t')
CALL sys.expire_snapshots(table => 'default.t', retain_max => 1)
CALL sys.remove_orphan_files(table => 'default.t')
CALL sys.drop_branch(table => 'default.t', branch => 'x')
CALL sys.create_tag(table => 'default.t', tag => 'x')
CALL sys.rollback(table => 'default.t', version => '1')
ANALYZE TABLE t COMPUTE STATISTICS
COPY INTO '{folder}/out' FROM t FILE_FORMAT = (TYPE = PARQUET)
INSERT OVERWRITE DIRECTORY '{folder}/out' USING parquet SELECT 1 AS k
INSERT OVERWRITE LOCAL DIRECTORY '{folder}/out' SELECT 1 AS k
CREATE TABLE spark_catalog.default.plain (k INT) USING parquet
CREATE TABLE spark_catalog.default.plain USING parquet LOCATION '{folder}/out' AS SELECT 1 AS k
CREATE TABLE spark_catalog.default.far (k INT) USING jdbc OPTIONS (url 'jdbc:derby:{folder}/out', dbtable 't')
LOAD DATA LOCAL INPATH '{folder}/users' INTO TABLE spark_catalog.default.plain
CREATE CATALOG other WITH ('type' = 'paimon', 'warehouse' = '{folder}/other')
MSCK REPAIR TABLE spark_catalog.default.plain
""".strip().split("\n")
CODE = """
CREATE TEMPORARY FUNCTION f AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFReflect'
CREATE TEMPORARY FUNCTION f AS 'Evil' USING JAR '{folder}/evil.jar'
CREATE FUNCTION f AS 'Evil' USING JAR '{folder}/evil.jar'
ADD JAR '{folder}/evil.jar'
ADD FILE '{folder}/evil.jar'
ADD ARCHIVE '{folder}/evil.jar'
SELECT TRANSFORM(k) USING 'touch {folder}/out' FROM t
FROM t SELECT TRANSFORM(k, v) USING 'tee {folder}/out' AS (a)
CREATE TEMPORARY VIEW far USING jdbc OPTIONS (url 'jdbc:derby:{folder}/out;create=true', dbtable 'sys.systables')
CREATE TEMPORARY VIEW far USING org.apache.spark.sql.jdbc OPTIONS (url 'jdbc:derby:{folder}/out', dbtable 'x')
CREATE TEMPORARY VIEW far USING org.apache.spark.sql.execution.datasources.jdbc OPTIONS (url 'jdbc:x:y', dbtable 'x')
CREATE TEMPORARY VIEW far USING socket OPTIONS (host 'localhost', port '1')
CREATE TEMPORARY VIEW far USING kafka OPTIONS (subscribe 'x')
CREATE TEMPORARY VIEW far USING parquet OPTIONS (path '{folder}', 'fs.file.impl' 'Evil')
CREATE TEMPORARY VIEW far USING parquet OPTIONS (path '{folder}', 'parquet.crypto.factory.class' 'Evil')
SELECT xpath_string('<!DOCTYPE a SYSTEM "http://127.0.0.1:1/x"><a>b</a>', 'a')
SELECT xpath('<!DOCTYPE a SYSTEM "file:{folder}/token"><a>b</a>', 'a') FROM t
SELECT from_protobuf(X'00', 'org.apache.spark.SparkConf')
""".strip().split("\n")
OPTIONS = """
CREATE TEMPORARY VIEW far USING paimon OPTIONS (path '{folder}/warehouse/default.db/t', uri 'jdbc:x:y')
CREATE TEMPORARY VIEW far USING paimon OPTIONS (path '{folder}/warehouse/default.db/t', 'query-auth.enabled' 'false')
CREATE TEMPORARY VIEW far USING paimon OPTIONS (path '{folder}/warehouse/default.db/t', 'consumer-id' 'mine')
CREATE TEMPORARY VIEW far USING xml OPTIONS (path '{folder}', rowTag 'a', rowValidationXSDPath 'http://127.0.0.1:1/x')
CREATE TEMPORARY VIEW far USING avro OPTIONS (path '{folder}', AVROSCHEMAURL 'http://127.0.0.1:1/x')
CREATE TEMPORARY VIEW far USING csv OPTIONS (path '{folder}', new 'x')
SELECT * FROM t WITH ('metastore' = 'jdbc')
SELECT * FROM t WITH ('sessionInitStatement' = 'DROP TABLE x')
SELECT * FROM t /*+ OPTIONS('query-auth.enabled' = 'false') */
SELECT * FROM xml.`{folder}/x` WITH ('rowValidationXSDPath' = 'http://127.0.0.1:1/x')
SELECT from_xml('<a/>', 'b INT', map('rowValidationXSDPath', 'http://127.0.0.1:1/x'))
SELECT from_xml('<a/>', 'b INT', map('mode', 'PERMISSIVE', 'ROWVALIDATIONXSDPATH', '{folder}/x'))
SELECT from_xml('<a/>', 'b INT', map(concat('rowValidation', 'XSDPath'), 'http://127.0.0.1:1/x'))
SELECT schema_of_xml('<a/>', builtin.map('rowValidationXSDPath', 'http://127.0.0.1:1/x'))
SELECT * FROM IDENTIFIER(to_json(from_xml('<a/>', 'b INT', map(lower('rowValidationXSDPath'), 'http://127.0.0.1:1/x'))))
SELECT from_avro(X'00', '{"type": "int"}', map('avroSchemaUrl', 'http://127.0.0.1:1/x'))
CREATE TEMPORARY FUNCTION attacked(x STRING) RETURNS STRING RETURN schema_of_xml(x, map('rowValidationXSDPath', 'x'))
""".strip().split("\n")
OF_OTHERS = """
CREATE GLOBAL TEMPORARY VIEW seen AS SELECT * FROM t
CREATE OR REPLACE GLOBAL TEMPORARY VIEW seen AS SELECT * FROM t
CREATE GLOBAL TEMPORARY VIEW seen USING text OPTIONS (path '{folder}/users')
CREATE GLOBAL TEMPORARY VIEW seen USING paimon OPTIONS (path '{folder}/warehouse/default.db/t')
CLEAR CACHE
CACHE TABLE t
CACHE LAZY TABLE t OPTIONS ('storageLevel' = 'DISK_ONLY')
CACHE TABLE kept AS SELECT * FROM t
UNCACHE TABLE t
UNCACHE TABLE IF EXISTS t
REFRESH '{folder}/warehouse'
""".strip().split("\n")
SETTINGS = """
spark.sql.catalog.other paimon_sql.SparkCatalog
spark.sql.catalog.paimon.warehouse {folder}/other
spark.sql.catalog.paimon.metastore jdbc
spark.sql.catalog.other org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog
spark.sql.catalog.other.url jdbc:derby:{folder}/out
spark.sql.sources.default jdbc
spark.sql.sources.outputCommitterClass Evil
spark.sql.sources.commitProtocolClass Evil
spark.sql.redaction.options.regex nothing
spark.sql.redaction.string.regex nothing
spark.sql.optimizer.excludedRules x
spark.sql.adaptive.customCostEvaluatorClass Evil
spark.sql.queryExecutionListeners Evil
spark.sql.extensions Evil
spark.sql.warehouse.dir {folder}/out
spark.sql.execution.pyspark.python {folder}/evil
spark.sql.analyzer.singlePassResolver.enabled true
spark.sql.streaming.checkpointLocation {folder}/out
spark.sql.legacy.hive.thriftServer.allowSettingSystemProperties true
spark.paimon.path {folder}/other
spark.paimon.write-only true
spark.paimon.consumer-id mine
spark.paimon-sql.python-functions true
spark.jars {folder}/evil.jar
spark.hadoop.fs.file.impl Evil
fs.file.impl Evil
fs.defaultFS file:///tmp
hive.exec.post.hooks Evil
hive.security.authorization.manager Evil
mapreduce.job.name x
javax.net.ssl.trustStore {folder}/x
""".strip().split("\n")
PATHS = """
SELECT * FROM text.`{folder}/token`
SELECT * FROM text.`file:{folder}/token`
SELECT * FROM text.`{folder}/warehouse/../token`
SELECT * FROM text.`token`
SELECT * FROM csv.`ftp://127.0.0.1:1/x`
SELECT * FROM json.`http://127.0.0.1:1/x`
SELECT * FROM binaryFile.`jar:file:{folder}/x!/y`
SELECT * FROM IDENTIFIER(concat('parquet.`', lower('{folder}/TOKEN`')))
SELECT * FROM paimon.`{folder}/other`
SELECT * FROM paimon.`{folder}/other` VERSION AS OF 1
SELECT * FROM paimon.`{folder}/other$files`
SELECT * FROM paimon_path.`{folder}`.`other`
SELECT * FROM paimon_incremental_query('paimon.`{folder}/other`', '1', '2')
SELECT * FROM t WITH ('path' = '{folder}/token')
SELECT * FROM `{folder}/other`
USE paimon_path
SHOW TABLES IN paimon_path.`{folder}`
DESCRIBE orc.`{folder}/token`
DESCRIBE TABLE EXTENDED paimon.`{folder}/other`
CREATE TEMPORARY VIEW attacked AS SELECT * FROM avro.`{folder}/token`
CREATE TEMPORARY VIEW attacked USING text OPTIONS (path '{folder}/token')
CREATE TEMPORARY VIEW attacked USING paimon OPTIONS (path '{folder}/other')
CREATE TEMPORARY VIEW attacked USING text OPTIONS (path '{folder}/warehouse', basePath 'ftp://127.0.0.1:1/x')
CREATE TEMPORARY VIEW attacked USING text OPTIONS (paths '["{folder}/token"]')
SELECT * FROM text.`{folder}/warehouse/links/folder`
SELECT * FROM text.`{folder}/warehouse/links/f*r/x`
SELECT * FROM text.`{folder}/warehouse/li{nks,x}/file`
SELECT * FROM json.`file:{folder}/warehouse/links/file`
SELECT * FROM text.`{folder}/warehouse/links`
SELECT * FROM text.`{folder}/warehouse`
SELECT * FROM paimon.`{folder}/warehouse/links/folder`
CREATE TEMPORARY VIEW attacked USING csv OPTIONS (path '{folder}/warehouse/links', header 'true')
""".strip().split("\n")
VALUES = """
mine ${env:HOME}
spark.sql.columnNameOfCorruptRecord x${system:user.home}
spark.paimon.scan.mode ${env:HOME}
""".strip().split("\n")
_REFLECT = "{function}('java.lang.System', 'setProperty', 'paimon.attacked', '1')"
_PLACES = """
SELECT {call}
SELECT * FROM t WHERE v = {call}
SELECT (SELECT {call})
SELECT 1 WHERE EXISTS (SELECT {call})
SELECT 1 LIMIT length({call})
SELECT * FROM VALUES ({call})
SELECT * FROM range(length({call}))
SELECT * FROM explode(array({call}))
SELECT transform(array(1), x -> {call})
SELECT k FROM t GROUP BY k HAVING max({call}) = '1'
SELECT k FROM t ORDER BY {call}
SELECT sum(k) OVER (PARTITION BY {call}) FROM t
SELECT * FROM t TABLESAMPLE (1 ROWS) WHERE {call} IS NULL
SELECT * FROM IDENTIFIER({call})
WITH s AS (SELECT {call} AS x) SELECT * FROM s
SELECT * FROM t, LATERAL (SELECT {call})
CREATE TEMPORARY VIEW attacked AS SELECT {call} AS x
CREATE TEMPORARY FUNCTION attacked() RETURNS STRING RETURN {call}
CREATE TEMPORARY FUNCTION attacked() RETURNS TABLE (x STRING) RETURN SELECT {call}
CACHE TABLE attacked AS SELECT {call} AS x
DECLARE OR REPLACE attacked STRING DEFAULT {call}
EXECUTE IMMEDIATE {call}
EXECUTE IMMEDIATE 'SELECT ?' USING {call}
BEGIN SELECT {call}; END
BEGIN DECLARE x STRING DEFAULT {call}; SELECT x; END
BEGIN IF {call} = '1' THEN SELECT 1; END IF; END
FROM t |> SELECT {call}
SELECT * FROM t PIVOT (max({call}) FOR k IN (1))
""".strip().split("\n")


def statements() -> Iterator[str]:
    """Statements of SQL; those that write also inside of others."""
    yield from WRITES
    yield from CODE
    yield from OPTIONS
    yield from OF_OTHERS
    yield from PATHS
    for text in (*WRITES[:20], *CODE[:5], *OF_OTHERS):
        quoted = text.replace("\\", "\\\\").replace("'", "\\'")
        yield f"EXECUTE IMMEDIATE '{quoted}'"
        yield f"BEGIN {text}; END"
    for function in ("reflect", "java_method", "try_reflect", "builtin.reflect", "system.builtin.reflect"):
        call = _REFLECT.replace("{function}", function)
        places = _PLACES if function == "reflect" else _PLACES[:3]
        yield from (place.replace("{call}", call) for place in places)
    for line in SETTINGS:
        key, _, value = line.partition(" ")
        yield f"SET {key} = {value}"
        yield f"RESET {key}"
    for line in VALUES:
        key, _, value = line.partition(" ")
        yield f"SET {key} = {value}"
        yield f"SET {key} = $" + "${nothing}" + value.partition("$")[2]


def session_settings() -> Iterator[tuple[str, str]]:
    """Settings with which a client of HiveServer2 opens a session."""
    yield "set:system:paimon.attacked", "1"
    yield "set:system:paimon_sql.users", "{folder}/other"
    yield "set:metaconf:hive.metastore.try.direct.sql", "false"
    for line in (*SETTINGS, *VALUES):
        key, _, value = line.partition(" ")
        for prefix in ("set:hiveconf:", "set:hivevar:", ""):
            yield prefix + key, value
