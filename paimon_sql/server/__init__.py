"""`paimon-sql serve`: one driver for many clients, by HiveServer2's protocol (JDBC, ODBC) and by Spark Connect's, and a
catalog for other engines (`rest/`)."""
