"""The folder that `paimon-sql run` puts at the front of `PYTHONPATH`. Modules of this package must not
import from it.
"""
