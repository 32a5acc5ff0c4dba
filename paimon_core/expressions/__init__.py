"""Predicates (`predicate`), their translation to Arrow expressions (`arrow`), and pruning by statistics (`prune`)."""
