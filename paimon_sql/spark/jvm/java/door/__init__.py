"""Java sources of the jar for JVM programs: they start Python, and pass statements and names of Paimon tables to it."""
