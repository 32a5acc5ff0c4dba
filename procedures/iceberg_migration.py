"""`CALL sys.migrate_table(source_type => 'iceberg', …)`: an Iceberg table as an append table of Paimon."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.format_table.iceberg import read_iceberg_table
from paimon_core.format_table.iceberg_adoption import plan_iceberg_adoption, schemas_of
from paimon_core.io.failure import on_certain_failure
from paimon_core.io.load import load_file_io, normalize
from paimon_core.options import BUCKET
from paimon_core.spec.identifier import Identifier
from paimon_core.store.schemas import create_schema
from paimon_sql.procedures.commits import commit_adopted
from paimon_sql.procedures.file_copies import copying
from paimon_sql.procedures.registry import ProcedureContext

ICEBERG = "iceberg"


def migrate_iceberg(
    context: ProcedureContext, place: str, name: Identifier, options: Mapping[str, str], *, delete_origin: bool
) -> None:
    """Make a table of the current snapshot of the Iceberg table at a place, with all its schemas; its files are moved,
    or copied unless `delete_origin`, which also deletes the metadata that made it a table."""
    location, catalog = normalize(place), context.catalog
    storage = load_file_io(location, catalog.options)
    source = read_iceberg_table(storage, location)
    first, *later = schemas_of(source, {**options, BUCKET.key: "-1"})
    catalog.create_database(name.database, ignore_if_exists=True)
    catalog.create_table(name, first)
    with on_certain_failure(lambda: catalog.drop_table(name), FileNotFoundError):
        made = catalog.load_table(name)
        for schema in later:
            create_schema(made.store.io, made.store.root, schema)
        target = catalog.load_table(name)
        target.check_writable()
        adoption = plan_iceberg_adoption(storage, source, (first, *later), target.store)
        if adoption.messages:
            commit_adopted(storage, target, adoption, copying(context), move=delete_origin)
    if delete_origin:
        storage.delete_dir(source.metadata)
