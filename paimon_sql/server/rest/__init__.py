"""`paimon-sql serve --rest`: a catalog for others, by Paimon's REST API. `app` answers requests by the `handlers` of
`databases`, `tables`, `versions` and `views`; `users` says who may ask; `run` listens. No Spark and no JVM."""
