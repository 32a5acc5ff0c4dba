"""Parquet data files: reading and writing, footers, encodings, and files with other values in some columns."""
