"""Predicates (`predicate`), their Arrow expressions (`arrow`), and pruning by statistics (`prune`)."""
