"""Arrow columns: Paimon types as Arrow types, casts, text, equality, and columns of older schemas as the newest has
them. Knows no files."""
