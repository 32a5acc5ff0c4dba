"""Functions that users create in a catalog: their definitions as Spark runs them, and their calls."""
