"""ORC data files, and what pyarrow does not read of them: times that nanoseconds do not reach."""
