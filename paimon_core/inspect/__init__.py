"""Values that describe the state of a table, from its metadata alone. `paimon_sql.pictures` draws them."""
