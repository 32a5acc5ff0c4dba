"""Functions that run in Python workers on executors, and jobs that procedures send to them."""
