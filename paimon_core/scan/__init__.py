"""Reading a table: the version (`time_travel`), its files (`plan`, `pruning`), the way of reading (`execution`), the
rows (`read`). `changes` are incremental queries. May import `store` and what is below it; writing imports nothing from
here.
"""
