"""Files that no version names: the search, in one process and as a job, and missing files."""
