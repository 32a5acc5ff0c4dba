"""dbt's adapter for Apache Paimon tables: dbt-spark with a session of paimon-sql and macros of its own.

`credentials` has the keys of a profile, `sessions` makes its Spark session, `connections` runs statements in it,
`model_configs` checks the configs of models. dbt and the macros in `dbt/include/paimon` call `impl`, `relation` and
`literals`.
"""

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.paimon.connections import PaimonConnectionManager
from dbt.adapters.paimon.credentials import PaimonCredentials
from dbt.adapters.paimon.impl import PaimonAdapter
from dbt.adapters.paimon.relation import PaimonRelation
from dbt.include import paimon

__all__ = ["PaimonAdapter", "PaimonConnectionManager", "PaimonCredentials", "PaimonRelation", "Plugin"]

Plugin = AdapterPlugin(
    adapter=PaimonAdapter,
    credentials=PaimonCredentials,
    include_path=paimon.PACKAGE_PATH,
    dependencies=["spark"],
)
