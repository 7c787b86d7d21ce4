"""The small parts: cells, problems, spelling, digests, checks of rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusize_catalog import columns, digest
from gpusize_catalog.facts import NameSuffix
from gpusize_catalog.problems import GpuSizeError, Problem, shown
from gpusize_catalog.rows import grouped, shipped_groups
from gpusize_catalog.spelling import close_words, did_you_mean
from gpusize_catalog.table import Table, columns_of
from gpusize_catalog.validation import RowCheck


@pytest.mark.parametrize(
    ("convert", "cell", "value"),
    [
        (columns.mib, "2", 2 * 2**20),
        (columns.giga, "1.5", 1.5e9),
        (columns.tera, "2", 2e12),
        (columns.pair, "10.3", (10, 3)),
        (columns.words, "b a", ("b", "a")),
        (columns.word_set, "b a b", frozenset({"a", "b"})),
        (columns.opt_whole, "", None),
        (columns.opt_pair, "8.9", (8, 9)),
        (columns.boolean, "false", False),
    ],
)
def test_cells(convert: columns.Convert, cell: str, value: object) -> None:
    assert convert(cell) == value


def test_a_bad_truth_is_refused() -> None:
    with pytest.raises(ValueError, match="not true or false"):
        columns.boolean("yes")


def test_a_problem_says_place_path_message_and_fix() -> None:
    problem = Problem("a.b", "is wrong", "do that", "f.csv", 3, 4)
    assert str(problem) == "f.csv:3:4: a.b: is wrong (do that)"
    assert str(Problem("", "is wrong")) == "is wrong"


def test_an_error_needs_a_problem() -> None:
    with pytest.raises(ValueError, match="says nothing"):
        GpuSizeError([])


def test_shown_is_short_and_on_one_line() -> None:
    assert shown("a\nb") == "'a\\nb'"
    assert len(shown("x" * 1000)) < 100


def test_did_you_mean() -> None:
    assert did_you_mean("H10O", ["H100", "T4"]) == "did you mean H100?"
    assert did_you_mean("zzz", ["H100"]) == ""
    assert close_words("x" * 10_000, ["x" * 10_000]) == ()


def test_lines_are_grouped_by_their_first_cell() -> None:
    assert grouped(["a,1", "b,2", "a,3", "", "no comma"]) == {"a": ["a,1", "a,3"], "b": ["b,2"]}


def test_a_missing_table_has_no_rows() -> None:
    assert shipped_groups("nothing") == {}


def test_digests_tell_names_and_contents_apart(tmp_path: Path) -> None:
    one, other = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("x,date\n1,2026-01-02\n")
    other.write_text("x,date\n1,2026-01-01\n")
    assert digest.digest_of([one, other]) == digest.digest_of([other, one])
    assert digest.digest_of([one]) != digest.digest_of([other])
    assert digest.newest_date([one, other]) == "2026-01-02"


def test_the_digest_is_written_where_load_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digest, "DIGEST_FILE", tmp_path / "DIGEST")
    digest.main()
    assert (tmp_path / "DIGEST").read_text() == digest.stamp()


def test_a_row_that_its_columns_cannot_read_is_a_fault() -> None:
    """The schema is the first gate; a converter that disagrees with it is the second."""
    table = Table(
        "model_suffixes", NameSuffix, ("suffix",), columns_of(NameSuffix, note=columns.whole)
    )
    cells = {"suffix": "-X", "kind": "twin", "native_format": "", "note": "no number"}
    (fault,) = RowCheck(table).faults(cells)
    assert "cannot be read" in fault.message
