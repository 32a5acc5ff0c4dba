"""All statements, as the calls that the bridge makes: without a JVM."""

from __future__ import annotations

from tests.support.statements.calls import CALLS
from tests.support.statements.definitions import DEFINITIONS
from tests.support.statements.kind import Statement
from tests.support.statements.reads import READS
from tests.support.statements.writes import WRITES

__all__ = ["CALLS", "READS", "STATEMENTS", "Statement"]

STATEMENTS = [*WRITES, *DEFINITIONS, *CALLS]
