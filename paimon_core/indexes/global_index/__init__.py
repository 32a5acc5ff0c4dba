"""Indexes of a column over the rows of a table by row id: btree and bitmap."""
