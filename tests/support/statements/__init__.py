"""Every statement that there is, at the level of what the bridge calls: no JVM."""

from __future__ import annotations

from tests.support.statements.calls import CALLS
from tests.support.statements.definitions import DEFINITIONS
from tests.support.statements.kind import Statement
from tests.support.statements.reads import READS
from tests.support.statements.writes import WRITES

__all__ = ["CALLS", "READS", "STATEMENTS", "Statement"]

STATEMENTS = [*WRITES, *DEFINITIONS, *CALLS]
