"""`paimon-sql serve`: one driver for many clients, by HiveServer2's protocol (JDBC, ODBC) and by Spark Connect's; `rest/`
hands a catalog to others."""
