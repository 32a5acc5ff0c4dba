"""The syntax of a Spark version's parser: spellings of newer versions are rewritten for older ones."""

from __future__ import annotations

from paimon_core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Syntax:
    """The parts of the syntax that not every version's parser accepts; True if this Spark's parser does.

    update_options: `UPDATE t WITH ('k' = 'v') SET …`

    unnest: `FROM UNNEST(array) WITH ORDINALITY`

    create_like: `CREATE TABLE catalog.database.t LIKE s`, in any catalog

    default_provider: new tables are Paimon tables without `USING paimon`; False for tables in Spark's own catalog
    """

    update_options: bool = True
    unnest: bool = True
    create_like: bool = True
    default_provider: bool = True


NEWEST = Syntax()
