"""Conditions in SQL as Spark reads them, over Arrow columns: the `where` of a scan.

bound       the tree of a condition: frozen nodes with types
coercion    the type that Spark compares and computes values in
building    the nodes that Spark would make
binding     SQL text -> tree, by sqlglot; what is not known is refused by name
simple      the same for simple texts, without sqlglot
casts       ANSI casts of columns
evaluation  tree and batch -> column
pushdown    tree -> predicates that prune files, as Spark pushes them down
condition   a whole condition

Here, only `binding` imports sqlglot.
"""
