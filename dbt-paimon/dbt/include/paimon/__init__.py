"""The macros of the adapter, and the prompts of `dbt init`."""

from pathlib import Path

PACKAGE_PATH = str(Path(__file__).parent)
