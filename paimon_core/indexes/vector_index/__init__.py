"""Indexes of vectors: files that find the rows with the nearest vectors, without comparing all of them."""
