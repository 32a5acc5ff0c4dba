"""Reading a table: choose the version (`time_travel`), its files (`plan`, `pruning`) and the way of reading
(`execution`), and read the rows (`read`). `changes` are incremental queries. May import `store` and what is below it;
writing imports nothing from here.
"""
