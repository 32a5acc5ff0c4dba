"""Users of a warehouse, created by Java's own `FileBasedPrivilegeManager`; the Python of the oracle runs this module.

java_accounts.py ORACLES WAREHOUSE PASSWORD_OF_ROOT USER PASSWORD PRIVILEGE=OBJECT ...
"""

from __future__ import annotations

import sys
from typing import Any


def main(oracles: str, warehouse: str, root: str, user: str, password: str, *grants: str) -> None:
    sys.path.insert(0, oracles)
    from java_sql import session  # type: ignore[import-not-found]  # noqa: PLC0415

    spark = session(warehouse, [])
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()

    def made(name: str, *arguments: Any) -> Any:
        given = spark._sc._gateway.new_array(spark._jvm.java.lang.Object, len(arguments))
        for i, argument in enumerate(arguments):
            given[i] = argument
        constructors = loader.loadClass(f"org.apache.paimon.{name}").getConstructors()
        return next(c for c in constructors if c.getParameterCount() == len(arguments)).newInstance(given)

    kinds = {k.name(): k for k in loader.loadClass("org.apache.paimon.privilege.PrivilegeType").getEnumConstants()}
    manager = made("privilege.FileBasedPrivilegeManager", warehouse, made("fs.local.LocalFileIO"), "root", root)
    manager.initializePrivilege(root)
    manager.createUser(user, password)
    for grant in grants:
        privilege, _, name = grant.partition("=")
        manager.grant(user, name, kinds[privilege])


if __name__ == "__main__":
    main(*sys.argv[1:])
