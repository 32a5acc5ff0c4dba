"""Avro: containers and codecs, records as Python values, data files, and the fields of records found by columns.

`container` is the only reader of Avro files; `records` and `field_offsets` decode what its blocks hold.
"""
