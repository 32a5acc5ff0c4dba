"""Indexes made while files are written, and by jobs for files that are there."""
