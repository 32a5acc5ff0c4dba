"""The parser hook, and the statements that we run as commands."""
