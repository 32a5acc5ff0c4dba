"""The version, where `dbt --version` looks for it."""

from importlib.metadata import version as _version

version = _version("paimon-sql")  # both are released together
