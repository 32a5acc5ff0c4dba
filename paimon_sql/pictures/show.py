"""Pictures of one table for notebooks, and files of pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from os import PathLike
from pathlib import Path
from typing import cast

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, StorageError, UnsupportedFeatureError, reason
from paimon_core.optional_packages import import_optional
from paimon_sql.pictures.picture import WHOLE, Choice, PictureFormat, page

# returns pieces of one kind, or of each kind that a table has, in a format
Renderer = Callable[[str | None, PictureFormat, Choice], list[str]]

_PACKAGE, _ZOOM = "resvg_py", 2  # pixels of a unit of the SVG, for sharp texts
# resvg does not know which font "sans-serif" is
_FONTS = 'svg text{font-family:Arial,Helvetica,"Liberation Sans","DejaVu Sans","Noto Sans",sans-serif !important}'
_ONE_LETTER = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9">{}</text></svg>'


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

    def to_png(self) -> bytes:
        """Return the picture as PNG. Raises the errors of `to_svg`, and `UnsupportedFeatureError` without the extra
        `png`.
        """
        return png_of(self.to_svg())

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file, in the format that its name ends with: `.svg`, `.html`, `.txt`, or `.png` with the extra `png`.

        Raises `InvalidOptionError` for other names, `UnsupportedFeatureError`, `StorageError`.
        """
        forms: dict[str, Callable[[], str | bytes]] = {
            ".svg": self.to_svg,
            ".html": self.to_html,
            ".txt": self.__repr__,
            ".png": self.to_png,
        }
        if not isinstance(path, str | PathLike):
            raise TypeError(f"path must be a text, not a value of type {type(path).__name__}.")
        write = forms.get(Path(path).suffix.lower())
        if write is None:
            raise InvalidOptionError(f"{str(path)!r} cannot be written: its name must end with {', '.join(forms)}.")
        written = write()
        try:
            Path(path).write_bytes(written.encode() if isinstance(written, str) else written)
        except (OSError, ValueError) as error:
            raise StorageError(f"{str(path)!r} cannot be written: {reason(error)}.") from error


@dataclass(frozen=True)
class TablePictures:
    """The pictures of a table. In a notebook the value itself shows all of them; each method gives one.

    Every picture is drawn from metadata when it is shown. Raises the errors of `CALL sys.picture` then.
    """

    name: str
    render: Renderer = field(repr=False)

    def lsm(self, partition: str | None = None, bucket: int | None = None, after: str | None = None) -> ShownPicture:
        """The LSM map: each bucket's sorted runs over its key range, and the files that are compacted next.

        `partition` is written as `$partitions` shows it, such as "day=2024-01-01". Tables without a primary key have no
        such map. With `after` = "compact" or "minor compact", also show each bucket after that compaction; the
        compaction does not run.
        """
        return self.chosen("lsm", Choice(partition, bucket, after))

    def timeline(self, after: str | None = None) -> ShownPicture:
        """The newest commits, with the rows that each added or removed, and tags. With `after` = "expire_snapshots",
        also show the snapshots that an expiry would remove.
        """
        return self.chosen("timeline", Choice(after=after))

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

    def chosen(self, kind: str | None, part: Choice = WHOLE) -> ShownPicture:
        """Return the picture of a kind by its name; with None, return every picture that the table has."""
        return ShownPicture(self.name, lambda form: self.render(kind, form, part))


def png_of(svg: str) -> bytes:
    """Return an SVG document of `pictures.svg` as PNG, in colours for light pages. Raises `UnsupportedFeatureError` if
    the package resvg_py is not installed, or if it finds no font on the machine.
    """
    if _drawn(_ONE_LETTER.format("x")) == _drawn(_ONE_LETTER.format("")):
        raise UnsupportedFeatureError(
            "A PNG needs a font, and this machine has none of Arial, Helvetica, Liberation Sans, DejaVu Sans and Noto "
            "Sans: install one, such as the package fonts-dejavu, or write SVG."
        )
    return _drawn(svg)


def _drawn(svg: str) -> bytes:
    resvg = import_optional(_PACKAGE, "PNG", "png")
    return cast("bytes", resvg.svg_to_bytes(svg_string=svg, style_sheet=_FONTS, zoom=_ZOOM))
