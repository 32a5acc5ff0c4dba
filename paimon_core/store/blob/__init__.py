"""BLOB columns: which there are, and the values that descriptors stand for."""
