"""CSV, JSON and plain text: a row per line."""
