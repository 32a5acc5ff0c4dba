"""What `paimon-sql run` puts at the front of `PYTHONPATH`; no module of ours imports from here."""
