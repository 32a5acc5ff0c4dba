"""Arrow columns: Paimon types as Arrow types, casts, text, equality, columns of older schemas as the newest.

May import `spec`, `errors`; knows no files.
"""
