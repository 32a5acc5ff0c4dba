"""System tables, `t$NAME`: for each a function of a table to its rows, listed in `registry`. May import `scan`."""
