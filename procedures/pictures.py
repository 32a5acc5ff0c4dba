"""`CALL sys.picture`: pictures of a table."""

from __future__ import annotations

from paimon_core.errors import InvalidOptionError
from paimon_core.table import Table
from paimon_sql.catalog.schema_files import check_is_table
from paimon_sql.pictures.kinds import draw, kinds_of
from paimon_sql.pictures.picture import NARROWEST, Choice, PictureFormat
from paimon_sql.procedures.arguments import given
from paimon_sql.procedures.registry import Int, ProcedureContext, Rows, load_table, procedure

_WIDTH, _WIDEST = 100, 10_000


@procedure(kind="string", picture="string")
def picture(
    context: ProcedureContext,
    table: str,
    kind: str | None = None,
    output: str | None = None,
    partition: str | None = None,
    bucket: Int | None = None,
    width: Int | None = None,
    after: str | None = None,
) -> Rows:
    """Draw a table: `lsm`, `timeline`, `files`, `partitions`, `branches` or `schemas`; without `kind` each of them.

    It reads metadata only, and changes nothing. `output` is `text` (the default, `width` characters wide), `svg` or
    `html`. `partition` and `bucket` choose the part of the table that the LSM map shows; it shows the buckets with most
    runs otherwise. `after` shows what an operation would do, without doing it: `compact` or `minor compact` in an LSM
    map, `expire_snapshots` in a timeline. The result has a row for each kind.
    """
    form, characters = _format(given(output)), _WIDTH if width is None else width
    if not NARROWEST <= characters <= _WIDEST:
        raise InvalidOptionError(f"width cannot be {characters}: use {NARROWEST} to {_WIDEST:,} characters.")
    found, wanted = _load(context, table), given(kind)
    if given(after) is not None and wanted is None:
        raise InvalidOptionError("after needs a kind: 'lsm' or 'timeline'.")
    part = Choice(given(partition), bucket, given(after))
    kinds = kinds_of(found.store) if wanted is None else (wanted.lower(),)
    return [(name, draw(found.store, name, part).written(form, characters)) for name in kinds]


def _load(context: ProcedureContext, name: str) -> Table:
    catalog, identifier = context.find(name)
    check_is_table(identifier)
    return load_table(catalog, identifier).in_zone(context.zone)


def _format(text: str | None) -> PictureFormat:
    try:
        return PictureFormat.TEXT if text is None else PictureFormat(text.lower())
    except ValueError:
        known = ", ".join(PictureFormat)
        raise InvalidOptionError(f"output cannot be {text!r}: use one of {known}.") from None
