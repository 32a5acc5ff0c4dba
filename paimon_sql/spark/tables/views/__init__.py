"""Views: a catalog's views as Spark runs them, and Spark's statements about them."""
