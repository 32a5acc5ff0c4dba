"""Which files, row ranges and rows of a version a query can leave out, because of metadata and indexes."""
