"""Places outside of the table that metadata names: external paths, and the catalog's limits for them."""
