"""DELETE, UPDATE and MERGE INTO: changes of rows as new files, deletion vectors, patches."""
