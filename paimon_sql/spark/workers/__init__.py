"""Functions that run in Python workers on executors, and jobs of procedures that run there."""
