"""ORC data files by pyarrow, and what it does not read of them: times that nanoseconds do not reach."""
