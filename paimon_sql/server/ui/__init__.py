"""`paimon-sql ui`: pages over a catalog for the browser of one user, made from metadata, without scripts."""
