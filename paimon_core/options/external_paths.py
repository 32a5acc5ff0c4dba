"""The external paths that the options of a table choose for new data files."""

from __future__ import annotations

from paimon_core.errors import InvalidOptionError
from paimon_core.options.files import DATA_FILE_EXTERNAL_FS, DATA_FILE_EXTERNAL_PATHS, DATA_FILE_EXTERNAL_STRATEGY
from paimon_core.options.option import TableOptions


def used_external_paths(options: TableOptions) -> tuple[str, ...]:
    """Return the paths for new data files; none if the table's folder has all files. Raises `InvalidOptionError`."""
    strategy, paths = options[DATA_FILE_EXTERNAL_STRATEGY], options[DATA_FILE_EXTERNAL_PATHS]
    if strategy == "none" or not paths:
        return ()
    for path in paths:
        if not scheme_of_path(path):
            raise InvalidOptionError(
                f"Option '{DATA_FILE_EXTERNAL_PATHS.key}' cannot be {path!r}: scheme should not be null; write it as "
                "s3://bucket/path or file:///path."
            )
    if strategy != "specific-fs":
        return paths
    wanted = options[DATA_FILE_EXTERNAL_FS]
    chosen = tuple(p for p in paths if scheme_of_path(p) == wanted)
    if not chosen:
        raise InvalidOptionError(
            f"External paths should not be empty: none of '{DATA_FILE_EXTERNAL_PATHS.key}' has the scheme "
            f"'{DATA_FILE_EXTERNAL_FS.key}' = {wanted!r}."
        )
    return chosen


def scheme_of_path(path: str) -> str:
    """Return the scheme of a URI; an empty text for a plain path."""
    scheme, found, _ = path.partition(":/")
    return scheme.lower() if found else ""
