"""`python -m paimon_sql` is the command `paimon-sql`."""

from __future__ import annotations

import sys

from paimon_sql.shell.main import main

sys.exit(main())
