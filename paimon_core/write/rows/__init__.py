"""Incoming rows of a task: checked, converted to the columns of files, buffered, sorted and spilled."""
