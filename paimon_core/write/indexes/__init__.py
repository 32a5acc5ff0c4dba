"""Indexes of files during writing, and jobs that index files of a version."""
