"""Methods of PySpark's readers, writers and sessions that ask here first."""
