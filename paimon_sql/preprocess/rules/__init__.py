"""One module per spelling: what it looks for in a statement, and what it puts in its place."""
