"""Options of tables, imported from here.

`option` defines options and parses their values. `table` and `iceberg` list the options that have an effect here.
`support` adds the options that only other engines use, and the values that do not work. Imports only errors.
"""

from paimon_core.options.iceberg import *  # noqa: F403
from paimon_core.options.option import *  # noqa: F403
from paimon_core.options.table import *  # noqa: F403
