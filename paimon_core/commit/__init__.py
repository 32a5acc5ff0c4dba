"""Commits: changes of files become the next snapshot (`commit`), where no rule finds a conflict (`conflicts`), by one
atomic step (`publish`). May import `write`, `scan`, `store` and what is below them.
"""
