"""Views: what a catalog keeps as Spark runs it, and Spark's statements about them."""
