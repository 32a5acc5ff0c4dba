"""What `--read-only` allows: for each door, lists of what is known to read; all else is refused."""
