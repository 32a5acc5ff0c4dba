"""The lists of what `--read-only` allows, for each door: only requests and statements known to read; the rest fails."""
