"""Files that no version names: the search, in one process and as a job, and files that should be there."""
