"""`CALL sys.*` for what only REST and Hive catalogs have: functions and dialects of views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_core.errors import PaimonError, UnsupportedFeatureError
from paimon_sql.procedures.registry import ProcedureContext, procedure

Rows = Sequence[tuple[Any, ...]]


@procedure(result="boolean")
def create_function(
    context: ProcedureContext,
    function: str,
    inputParams: str,
    returnParams: str,
    deterministic: bool | None = None,
    comment: str | None = None,
    options: str | None = None,
) -> Rows:
    """Create a function, in a catalog that keeps them; a filesystem catalog does not.

    The result is true.
    """
    raise _unsupported("functions", function)


@procedure(result="boolean")
def alter_function(context: ProcedureContext, function: str, change: str) -> Rows:
    """Change a function, in a catalog that keeps them; a filesystem catalog does not.

    The result is true.
    """
    raise _unsupported("functions", function)


@procedure(result="boolean")
def drop_function(context: ProcedureContext, function: str) -> Rows:
    """Drop a function, in a catalog that keeps them; a filesystem catalog does not.

    The result is true.
    """
    raise _unsupported("functions", function)


@procedure(result="boolean")
def alter_view_dialect(
    context: ProcedureContext, view: str, action: str, engine: str | None = None, query: str | None = None
) -> Rows:
    """Add, update or drop a view's query for an engine, in a catalog that keeps views; a filesystem one does not.

    The result is true.
    """
    raise _unsupported("views", view)


def _unsupported(kind: str, name: str) -> PaimonError:
    return UnsupportedFeatureError(
        f"{name!r} cannot be used: a filesystem catalog has no {kind}. They need a REST or Hive catalog, which this "
        "version does not reach."
    )
