"""Commits: changes of files become the next snapshot (`commit`) in one atomic step (`publish`), if no rule finds a
conflict (`conflicts`). May import `write`, `scan`, `store` and what is below them.
"""
