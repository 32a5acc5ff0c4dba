"""Real processes on one table that are killed at any moment: `python -m tests.stress`."""
