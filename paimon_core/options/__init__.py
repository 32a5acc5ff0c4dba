"""Options of tables, imported from here.

`option` says what an option is and reads its value, `table` and `iceberg` list those that have an effect here,
`support` adds those that only other engines go by, and the values that do not work. Imports nothing but errors.
"""

from paimon_core.options.iceberg import *  # noqa: F403
from paimon_core.options.option import *  # noqa: F403
from paimon_core.options.table import *  # noqa: F403
