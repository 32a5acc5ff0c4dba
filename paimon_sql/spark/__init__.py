"""The bridge: Python objects that implement Spark's interfaces through py4j. No other folder imports PySpark.

`jvm` is its door into the JVM. Each folder may import those before it: `jvm`, `errors`, `workers`, `read`, `write`,
`tables`, `statements`, `dataframes`.
"""
