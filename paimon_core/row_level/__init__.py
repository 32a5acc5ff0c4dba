"""DELETE, UPDATE and MERGE INTO: changes of rows, written as new files, deletion vectors or patches."""
