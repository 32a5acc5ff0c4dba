"""What must hold, one subject a module: rows, schemas, consumers, changes, files."""
