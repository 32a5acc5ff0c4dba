"""Options of tables, imported from here.

`option` defines options and parses their values. One module a theme lists the options that have an effect here, and
`table` collects them. `support` adds the options that only other engines use, and the values that do not work.
Imports only errors.
"""

from paimon_core.options.compaction import *  # noqa: F403
from paimon_core.options.files import *  # noqa: F403
from paimon_core.options.iceberg import *  # noqa: F403
from paimon_core.options.indexes import *  # noqa: F403
from paimon_core.options.layout import *  # noqa: F403
from paimon_core.options.merging import *  # noqa: F403
from paimon_core.options.option import *  # noqa: F403
from paimon_core.options.reading import *  # noqa: F403
from paimon_core.options.table import TABLE_OPTIONS as TABLE_OPTIONS
from paimon_core.options.upkeep import *  # noqa: F403
from paimon_core.options.writing import *  # noqa: F403
