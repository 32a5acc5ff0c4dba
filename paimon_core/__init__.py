"""Paimon tables on any storage. Knows neither Spark nor SQL nor catalogs."""
