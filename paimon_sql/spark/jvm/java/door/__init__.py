"""Java sources of the jar for JVM programs: they start Python, and hand to it what concerns Paimon tables."""
