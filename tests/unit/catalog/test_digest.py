"""The digest is written for good data, and refused for bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusize_catalog import digest
from gpusize_catalog.rows import shipped_path
from gpusize_catalog.tables import TABLES

FORMATS = TABLES["formats"]


def spoilt(tmp_path: Path, old: str, new: str) -> Path:
    """Write the table of formats with one word changed where it stands first."""
    file = tmp_path / "formats.csv"
    text = shipped_path("formats").read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    return file


def test_shipped_tables_have_no_faults() -> None:
    assert list(digest.faults_in(FORMATS, shipped_path("formats"))) == []


def test_a_bad_cell_is_told_with_its_place(tmp_path: Path) -> None:
    (problem,) = digest.faults_in(FORMATS, spoilt(tmp_path, "\nfp8,", "\nfp8,,"))
    assert problem.file == "formats.csv"
    assert problem.line is not None
    assert "columns" in problem.message


def test_a_wrong_header_is_told(tmp_path: Path) -> None:
    (problem,) = digest.faults_in(FORMATS, spoilt(tmp_path, "id,", "name,"))
    assert (problem.line, problem.message) == (1, "the columns are not those of the table")


def test_bad_data_get_no_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in TABLES:
        text = shipped_path(name).read_text(encoding="utf-8")
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    spoilt(tmp_path, ",16,", ",perhaps,")
    monkeypatch.setattr(digest, "DATA", tmp_path)
    monkeypatch.setattr(digest, "DIGEST_FILE", tmp_path / "DIGEST")
    assert digest.main() == digest.REFUSED
    assert "'perhaps'" in capsys.readouterr().err
    assert not (tmp_path / "DIGEST").exists()


def test_what_was_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(digest, "DIGEST_FILE", tmp_path / "DIGEST")
    assert digest.main() == 0
    written = (tmp_path / "DIGEST").read_text(encoding="ascii")
    assert capsys.readouterr().out == f"written to data/DIGEST: {written}"
