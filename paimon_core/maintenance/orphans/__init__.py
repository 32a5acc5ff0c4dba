"""Orphans, which are files in no version: the search for them, in one process or as a job.

Also the search for missing files.
"""
