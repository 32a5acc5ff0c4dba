"""CSV, JSON and plain text, with one row per line."""
