"""Global indexes: from keys of a column to row ids of a table, as bytes and values only.

`btree` and `bitmap` are the formats of their files, built of `blocks` and `grouped_rows`; `keys` and `arrow_keys` say
how values are spelled; `reader` searches.
"""
