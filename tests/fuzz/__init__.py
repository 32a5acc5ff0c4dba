"""Campaigns of made-up input, as commands: `python -m tests.fuzz files` damages the files of tables."""
