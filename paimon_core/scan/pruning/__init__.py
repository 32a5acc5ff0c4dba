"""Files, row ranges and rows of a version that a query can leave out, by metadata and indexes."""
