"""The version, in the place where `dbt --version` looks for it."""

from importlib.metadata import version as _version

version = _version("paimon-sql")  # paimon-sql and this package are released together
