"""This package's errors as the exceptions that users of Spark expect, with conditions and SQL states."""
