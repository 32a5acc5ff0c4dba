"""Statements of views that Spark does not hand to the catalog: of paths, in listings, and before Spark 4.2."""
