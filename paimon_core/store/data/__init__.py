"""The data files of a bucket as streams of rows, with the columns that the table has now."""
