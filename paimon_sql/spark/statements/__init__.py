"""The parser hook, and the statements that this package runs as commands."""
