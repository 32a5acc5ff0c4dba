"""The way into the JVM, and the Java sources that are compiled in it."""
