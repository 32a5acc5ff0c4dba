"""Reading a table: which version (`time_travel`), which of its files (`plan`, `pruning`), how (`execution`), which rows
(`read`); `changes` are incremental queries. May import `store` and what is below it; writing imports nothing from here.
"""
