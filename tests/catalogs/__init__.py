"""The contract of catalogs: the same cases against each kind of catalog, and what each cannot, declared in `kinds`."""
