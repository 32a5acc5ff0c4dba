"""A storage for users who may read a table but not change it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import NoReturn

from paimon_core.dataclass import dataclass
from paimon_core.errors import NoPrivilegeError
from paimon_core.io.delegating import DelegatingFileIO
from paimon_core.io.file_io import FileIO


@dataclass(frozen=True)
class ReadOnlyFileIO(DelegatingFileIO):
    """A `FileIO` that raises `NoPrivilegeError` with the text `refusal` for each call that would change files."""

    inner: FileIO
    refusal: str

    def _io(self) -> FileIO:
        return self.inner

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return nullcontext(False)

    def _refuse(self, *arguments: object, **named: object) -> NoReturn:
        raise NoPrivilegeError(self.refusal)

    write_bytes = replace_file = replace_tagged = create_exclusive = _refuse
    make_dirs = rename_dir = move_file = copy_file = sync = open_output = _refuse
    delete = delete_below = delete_many_below = delete_dir_below = delete_dir = delete_empty_dir_below = _refuse
