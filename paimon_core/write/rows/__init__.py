"""Incoming rows of a task: checked, brought to the columns of files, buffered, sorted and spilled."""
