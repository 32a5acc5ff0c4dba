"""BLOB columns, and the values that descriptors describe."""
