"""Campaigns of made-up input, as commands: `python -m tests.fuzz files` and `python -m tests.fuzz statements`."""
