"""System tables, `t$NAME`: a function returns the rows of each for a table; `registry` lists the functions.

May import `scan`.
"""
