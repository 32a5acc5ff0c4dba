"""Files of postponed buckets (`'bucket' = '-2'`), and the order in which their rows arrived.

    TABLE/[KEY=VALUE/…]bucket-postpone/data--u-USER-s-NUMBER-w-UUID-N.avro   the rows of one writer

The records are key-value rows, neither sorted nor merged. Their sequence numbers are only valid within the file.
Source: Paimon's page "Data Distribution". Other engines parse these names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from paimon_core.spec.manifest import DataFileMeta

_NUMBER = re.compile(r"^(?P<writer>.*)-(?P<number>[0-9]{1,9})\.")
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def arrival_order(files: Iterable[DataFileMeta]) -> list[DataFileMeta]:
    """Sort postponed files by arrival: by the time at which they were finished, and files of one writer by their
    numbers.
    """
    return sorted(files, key=_arrival)


def _arrival(file: DataFileMeta) -> tuple[datetime, str, int]:
    match = _NUMBER.match(file.file_name)
    name = (match["writer"], int(match["number"])) if match else (file.file_name, 0)
    return file.creation_time or _LONG_AGO, *name
