"""What newer versions of Spark do themselves, done here for the older ones: each module is the variant of a hook."""
