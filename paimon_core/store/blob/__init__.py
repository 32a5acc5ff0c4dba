"""BLOB columns, and the values that descriptors refer to."""
