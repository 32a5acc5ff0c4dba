"""What metadata names outside of the table: external paths, and what the catalog allows."""
