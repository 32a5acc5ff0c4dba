"""SQL cells of notebooks: `%load_ext paimon_sql`, then `%%sql`. Needs IPython; Spark is reached through the session."""
