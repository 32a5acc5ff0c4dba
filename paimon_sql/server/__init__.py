"""`paimon-sql serve`: one driver for many clients, by the protocols of HiveServer2 (JDBC, ODBC) and of Spark Connect,
and a catalog for other engines (`rest/`).
"""
