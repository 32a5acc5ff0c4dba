"""What goes wrong while a data file is read, as errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from paimon_core.errors import CorruptFileError, PaimonError
from paimon_core.io.file_io import storage_errors


@contextmanager
def read_errors(format_name: str, path: str) -> Iterator[None]:
    """Raise what pyarrow finds wrong with a file's bytes as `CorruptFileError`; `FileNotFoundError` stays."""
    try:
        yield
    except (FileNotFoundError, PaimonError):
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # names that are no text are a ValueError
        if isinstance(error, OSError) and error.errno:
            with storage_errors("read", path):
                raise
        raise CorruptFileError(path, f"it is no {format_name} file, or damaged ({error})") from error
