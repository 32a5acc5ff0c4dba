"""The indexes of the columns of one data file: bloom filters, bitmaps, bit slices, range bitmaps."""
