"""Pictures of one table for notebooks, and files of pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from pathlib import Path

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_sql.pictures.picture import PictureFormat, page

# returns pieces of one kind, or of each kind that a table has, in a format
Renderer = Callable[[str | None, PictureFormat, str | None, int | None], list[str]]


@dataclass(frozen=True)
class ShownPicture:
    """Pictures that a notebook shows as HTML, and a terminal as text. They are drawn when they are shown."""

    title: str
    render: Callable[[PictureFormat], list[str]] = field(repr=False)

    def __repr__(self) -> str:
        return "\n".join(self.render(PictureFormat.TEXT))

    def _repr_html_(self) -> str:
        return "".join(self.render(PictureFormat.HTML))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def to_svg(self) -> str:
        """Return the picture as an SVG document. Raises `InvalidOptionError` for several pictures."""
        found = self.render(PictureFormat.SVG)
        if len(found) != 1:
            raise InvalidOptionError("An SVG document has one picture: choose a kind, or write HTML.")
        return found[0]

    def to_html(self) -> str:
        """Return an HTML document with the pictures and their values. It has no scripts and loads nothing."""
        return page(self.title, self.render(PictureFormat.HTML))

    def save(self, path: str) -> None:
        """Write a file, in the format that its name ends with: `.svg`, `.html` or `.txt`.

        Raises `InvalidOptionError` for other names, `OSError`.
        """
        forms: dict[str, Callable[[], str]] = {".svg": self.to_svg, ".html": self.to_html, ".txt": self.__repr__}
        write = forms.get(Path(path).suffix.lower())
        if write is None:
            raise InvalidOptionError(f"{path} cannot be written: its name must end with {', '.join(forms)}.")
        Path(path).write_text(write(), encoding="utf-8")


@dataclass(frozen=True)
class TablePictures:
    """The pictures of a table. In a notebook the value itself shows all of them; each method gives one.

    Every picture is drawn from metadata when it is shown. Raises as `CALL sys.picture` then.
    """

    name: str
    render: Renderer = field(repr=False)

    def lsm(self, partition: str | None = None, bucket: int | None = None) -> ShownPicture:
        """The LSM map: each bucket's sorted runs over its key range, and the files that are compacted next.

        `partition` is written as `$partitions` shows it, such as "day=2024-01-01". Tables without a primary key have no
        such map.
        """
        return self.chosen("lsm", partition, bucket)

    def timeline(self) -> ShownPicture:
        """The newest commits, with the rows that each added or removed, and tags."""
        return self.chosen("timeline")

    def files(self) -> ShownPicture:
        """The data files by size, against the size at which a file ends."""
        return self.chosen("files")

    def partitions(self) -> ShownPicture:
        """The largest partitions, with files, last change and skew of buckets."""
        return self.chosen("partitions")

    def branches(self) -> ShownPicture:
        """The branches and tags over the numbers of snapshots."""
        return self.chosen("branches")

    def schemas(self) -> ShownPicture:
        """The changes that each schema made."""
        return self.chosen("schemas")

    def all(self) -> ShownPicture:
        """Every picture that the table has."""
        return self.chosen(None)

    def __repr__(self) -> str:
        return repr(self.all())

    def _repr_html_(self) -> str:
        return self.all()._repr_html_()

    def chosen(self, kind: str | None, partition: str | None = None, bucket: int | None = None) -> ShownPicture:
        """The picture of a kind, by its name; None for every picture that the table has."""
        return ShownPicture(self.name, lambda form: self.render(kind, form, partition, bucket))
