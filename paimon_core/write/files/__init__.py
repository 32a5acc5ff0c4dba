"""The files that writers write: data, BLOB and changelog files, and what they are called."""
