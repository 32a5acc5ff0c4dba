"""What workers need not do for each task."""

from __future__ import annotations

import zipfile
from pathlib import Path
from zipimport import zipimporter

from paimon_sql.spark.workers.daemon import only_if_changed


def archive(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(f"{name}.py", "")


def test_archives_are_read_again_where_they_have_changed(tmp_path: Path) -> None:
    path, other = tmp_path / "a.zip", tmp_path / "b.zip"
    archive(path, "first")
    archive(other, "first")
    importers, read = [zipimporter(str(path)), zipimporter(str(other))], []

    def again(importer: zipimporter) -> None:
        zipimporter.invalidate_caches(importer)
        read.append(Path(importer.archive).name)

    invalidate = only_if_changed(again)
    for _ in range(3):
        for importer in importers:
            invalidate(importer)
    assert read == ["a.zip", "b.zip"]
    archive(path, "first", "second")
    for importer in importers * 2:
        invalidate(importer)
    assert read == ["a.zip", "b.zip", "a.zip"]
    assert importers[0].find_spec("second") is not None and importers[1].find_spec("second") is None
    path.unlink()
    for importer in importers * 2:
        invalidate(importer)
    assert read == ["a.zip", "b.zip", "a.zip", "a.zip", "a.zip"]
    assert importers[0].find_spec("second") is None
