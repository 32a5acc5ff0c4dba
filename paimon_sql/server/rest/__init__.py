"""`paimon-sql serve --rest`: a catalog for other programs, by Paimon's REST API.

`app` answers requests with the handlers of `databases`, `tables`, `versions` and `definitions`; `users` has the users
and their tokens; `run` listens. It needs neither Spark nor a JVM.
"""
