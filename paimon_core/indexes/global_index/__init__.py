"""Global indexes, which map keys of a column to row ids of a table, as bytes and values.

`btree` and `bitmap` are the formats of their files, made of `blocks` and `grouped_rows`. `keys` and `arrow_keys` encode
values, and `reader` searches.
"""
