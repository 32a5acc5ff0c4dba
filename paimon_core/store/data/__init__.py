"""The data files of a bucket as streams of rows, with the present columns of the table."""
