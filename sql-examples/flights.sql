-- All flights that left New York in 2013, in one table with a primary key that is corrected as news comes in:
-- first what was scheduled, then departures and arrivals, in disorder and one of them twice.
--
-- Run it from the project's folder with `make demo`, or by hand:
--     python scripts/flights_data.py build/flights.parquet
--     paimon-sql -w warehouse-demo -f sql-examples/flights.sql

-- 1. The input: one Parquet file of 336,776 flights, read where it is.
CREATE OR REPLACE TEMPORARY VIEW input USING parquet OPTIONS (path 'build/flights.parquet');

CREATE OR REPLACE TEMPORARY VIEW news AS
SELECT carrier, flight, origin, make_timestamp_ntz(year, month, day, hour, minute, 0) AS scheduled, month,
       dest, distance, dep_delay, arr_delay
FROM input;

-- 2. The table. A flight is known by carrier, number, origin and scheduled departure; the partition column, month,
-- has to be part of the key too. 'write-only': only readers and the compaction of step 7 merge.
CREATE DATABASE IF NOT EXISTS nyc;
USE nyc;
DROP TABLE IF EXISTS flights;

CREATE TABLE flights (
  carrier STRING, flight INT, origin STRING, scheduled TIMESTAMP_NTZ, month INT,
  dest STRING, distance INT,
  dep_delay INT COMMENT 'minutes late, NULL until it departed',
  arr_delay INT COMMENT 'minutes late, NULL until it arrived',
  PRIMARY KEY (carrier, flight, origin, scheduled, month) NOT ENFORCED
) PARTITIONED BY (month) WITH ('bucket' = '2', 'write-only' = 'true');

DESCRIBE flights;

-- 3. The schedule, month by month: twelve commits. Expect 336,776 flights in 12 months, none of them departed.
CREATE OR REPLACE TEMPORARY VIEW schedule AS
SELECT carrier, flight, origin, scheduled, month, dest, distance, NULL AS dep_delay, NULL AS arr_delay FROM news;

INSERT INTO flights SELECT * FROM schedule WHERE month = 1;
INSERT INTO flights SELECT * FROM schedule WHERE month = 2;
INSERT INTO flights SELECT * FROM schedule WHERE month = 3;
INSERT INTO flights SELECT * FROM schedule WHERE month = 4;
INSERT INTO flights SELECT * FROM schedule WHERE month = 5;
INSERT INTO flights SELECT * FROM schedule WHERE month = 6;
INSERT INTO flights SELECT * FROM schedule WHERE month = 7;
INSERT INTO flights SELECT * FROM schedule WHERE month = 8;
INSERT INTO flights SELECT * FROM schedule WHERE month = 9;
INSERT INTO flights SELECT * FROM schedule WHERE month = 10;
INSERT INTO flights SELECT * FROM schedule WHERE month = 11;
INSERT INTO flights SELECT * FROM schedule WHERE month = 12;

SELECT count(*) AS flights, count(DISTINCT month) AS months, count(dep_delay) AS departed FROM flights;
SHOW PARTITIONS flights;

-- 4. The news. A new row replaces the whole row of the same key, so each view takes what the news does not say
-- from the table as it is then: a departure keeps the arrival, an arrival keeps the departure.
CREATE OR REPLACE TEMPORARY VIEW departures AS
SELECT f.* EXCEPT (dep_delay, arr_delay), n.dep_delay, f.arr_delay
FROM flights f JOIN news n USING (carrier, flight, origin, scheduled, month) WHERE n.dep_delay IS NOT NULL;

CREATE OR REPLACE TEMPORARY VIEW arrivals AS
SELECT f.* EXCEPT (dep_delay, arr_delay), f.dep_delay, n.arr_delay
FROM flights f JOIN news n USING (carrier, flight, origin, scheduled, month) WHERE n.arr_delay IS NOT NULL;

-- Six batches in disorder: the flights of March, June, August and October arrive before they depart.
INSERT INTO flights SELECT * FROM departures WHERE month IN (9, 2, 11, 5);
INSERT INTO flights SELECT * FROM arrivals WHERE month IN (3, 10, 6, 8);
INSERT INTO flights SELECT * FROM departures WHERE month IN (7, 12, 1, 4);
INSERT INTO flights SELECT * FROM arrivals WHERE month IN (12, 5, 1, 2);
INSERT INTO flights SELECT * FROM departures WHERE month IN (10, 3, 8, 6);
INSERT INTO flights SELECT * FROM arrivals WHERE month IN (11, 4, 9, 7);

-- Expect still 336,776 flights, now 328,521 departed and 327,346 arrived.
SELECT count(*) AS flights, count(dep_delay) AS departed, count(arr_delay) AS arrived FROM flights;

-- The last batch once more, as a source does that is not sure. Expect the same three figures.
INSERT INTO flights SELECT * FROM arrivals WHERE month IN (11, 4, 9, 7);
SELECT count(*) AS flights, count(dep_delay) AS departed, count(arr_delay) AS arrived FROM flights;

-- 5. Questions. The latest carriers: expect Frontier (F9) first, 21.9 minutes late on average, then AirTran (FL).
SELECT carrier, count(*) AS flights, round(avg(dep_delay), 1) AS late_out, round(avg(arr_delay), 1) AS late_in
FROM flights GROUP BY carrier ORDER BY late_in DESC LIMIT 5;

-- The worst routes that are flown nearly every day: expect Newark to Knoxville (TYS) first, 41.2 minutes late.
SELECT origin, dest, count(*) AS flights, round(avg(arr_delay), 1) AS late_in,
       count(*) - count(dep_delay) AS cancelled
FROM flights GROUP BY origin, dest HAVING count(*) >= 300 ORDER BY late_in DESC LIMIT 5;

-- 6. Back in time. Snapshot 12 is the schedule, before any news: expect 0 and 0, then today's 328,521 and 327,346.
SELECT 'scheduled' AS state, count(dep_delay) AS departed, count(arr_delay) AS arrived FROM flights VERSION AS OF 12
UNION ALL
SELECT 'now', count(dep_delay), count(arr_delay) FROM flights;

-- One flight, the latest of the year: Hawaiian 51 to Honolulu on January 9. Expect NULLs as scheduled, the departure
-- only in snapshot 15, then 1,301 minutes late out and 1,272 late in.
SELECT 'scheduled' AS state, scheduled, dep_delay, arr_delay FROM flights VERSION AS OF 12
WHERE carrier = 'HA' AND flight = 51 AND scheduled = TIMESTAMP_NTZ '2013-01-09 09:00:00'
UNION ALL
SELECT 'departed', scheduled, dep_delay, arr_delay FROM flights VERSION AS OF 15
WHERE carrier = 'HA' AND flight = 51 AND scheduled = TIMESTAMP_NTZ '2013-01-09 09:00:00'
UNION ALL
SELECT 'arrived', scheduled, dep_delay, arr_delay FROM flights
WHERE carrier = 'HA' AND flight = 51 AND scheduled = TIMESTAMP_NTZ '2013-01-09 09:00:00';

-- 7. Compaction. Before: files at level 0 only, 1,102,481 records in all, as every upsert added runs.
SELECT level, count(*) AS files, sum(record_count) AS records, round(sum(file_size_in_bytes) / 1e6, 1) AS megabytes
FROM `flights$files` GROUP BY level ORDER BY level;

CALL sys.compact(table => 'nyc.flights');

-- After: 24 files at level 5, one for each of 2 buckets in 12 months, with 336,776 records.
SELECT level, count(*) AS files, sum(record_count) AS records, round(sum(file_size_in_bytes) / 1e6, 1) AS megabytes
FROM `flights$files` GROUP BY level ORDER BY level;

SELECT partition, bucket, level, record_count, min_key, max_key FROM `flights$files` ORDER BY partition, bucket LIMIT 4;

-- 8. Every commit is a snapshot: twelve of the schedule, seven of news, one compaction, which changes no answer.
SELECT snapshot_id, commit_kind, delta_record_count AS delta, total_record_count AS total
FROM `flights$snapshots` ORDER BY snapshot_id;

SELECT count(*) AS flights, count(dep_delay) AS departed, count(arr_delay) AS arrived FROM flights;
