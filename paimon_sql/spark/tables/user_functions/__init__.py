"""Functions that users create in a catalog: what it keeps as Spark runs it, and their calls."""
