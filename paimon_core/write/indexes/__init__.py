"""Indexes of files while they are written, and jobs that index files of a version."""
