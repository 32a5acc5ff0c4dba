"""The indexes of a table through its storage: index files, file indexes of data files, global indexes."""
