"""Arrow columns: Paimon types as Arrow types, casts, texts, equality, and columns of older schemas converted to the
newest schema. May import `spec`, `errors`; it does not know files.
"""
