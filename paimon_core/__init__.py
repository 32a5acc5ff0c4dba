"""Paimon tables on any storage, independent of Spark, SQL and catalogs."""
