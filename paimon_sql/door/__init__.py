"""The Python process beside a JVM driver, which the jar for JVM programs starts."""
