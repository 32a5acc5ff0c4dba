"""Hashes for buckets and indexes: murmur3, xxHash64, and the bucket functions."""
