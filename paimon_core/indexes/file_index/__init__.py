"""File indexes: which rows of one data file have a value, as bytes and values only.

`container` is the file around the indexes of columns; `bitmap`, `bloom_filter`, `bsi` and `range_bitmap` are their
types, listed in `registry`; `keys` and `arrow_keys` say how values are spelled.

All types answer the questions of `column_index.ColumnIndex` by sets of row positions. A bloom filter knows only that no
row has a value; a bitmap knows the rows of each value; bit slices (`bsi`, and of dictionary codes `range_bitmap`) know
those of ranges too, with one operation of bitmaps per bit. Bodies are decoded only as far as an answer needs them.
"""
