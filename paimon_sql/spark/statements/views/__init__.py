"""Statements about views that Spark does not pass to the catalog: in listings, and before Spark 4.2."""
