-- the latest arrival of each airport, as seen from the table that the stream fills
CREATE MATERIALIZED VIEW airports AS
SELECT dest, count(*) AS flights, max(arr_delay) AS latest FROM arrivals GROUP BY dest;
