"""Hashes that decide where rows go and what indexes find: murmur3, xxHash64, and the bucket functions."""
