"""File indexes: the sets of rows of one data file with each value, as bytes and values.

`container` is the file around the indexes of columns; `bitmap`, `bloom_filter`, `bsi` and `range_bitmap` are their
types, listed in `registry`; `keys` and `arrow_keys` convert values to keys.

All types answer the questions of `column_index.ColumnIndex` with sets of row positions. A bloom filter only finds out
that no row has a value. A bitmap has the rows of each value. Bit slices (`bsi`, and `range_bitmap` for dictionary
codes) also find the rows of ranges, with one operation of bitmaps per bit. Bodies are decoded only as far as needed.
"""
