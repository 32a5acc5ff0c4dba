"""Encodings of values as bytes: varints, VARIANT, roaring bitmaps, descriptors of BLOBs. Imports `errors` only."""
