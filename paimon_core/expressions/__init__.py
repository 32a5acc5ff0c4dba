"""Predicates (`predicate`), as Arrow expressions (`arrow`), and what statistics say of them (`prune`)."""
