"""The folder that `paimon-sql run` puts at the front of `PYTHONPATH`; no module of this package imports from here."""
