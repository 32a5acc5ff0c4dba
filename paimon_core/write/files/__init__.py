"""The files that writers write: data, BLOB and changelog files, and their names."""
