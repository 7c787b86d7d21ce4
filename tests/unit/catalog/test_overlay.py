"""Overlay folders: what they may do, and how each mistake is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpusize_catalog import sheets
from gpusize_catalog.facts import PriceType
from gpusize_catalog.problems import GpuSizeError, Problem
from gpusize_catalog.store import Catalog, load
from gpusize_catalog.units import MIB

Lay = Callable[..., Catalog]


@pytest.fixture
def lay(tmp_path: Path) -> Lay:
    """Load the catalog under one folder with these files."""

    def load_with(**files: str | bytes) -> Catalog:
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (tmp_path / f"{name}.csv").write_bytes(data)
        return load([tmp_path])

    return load_with


def problems_of(lay: Lay, **files: str | bytes) -> tuple[Problem, ...]:
    with pytest.raises(GpuSizeError) as caught:
        lay(**files)
    return caught.value.problems


def problem_of(lay: Lay, **files: str | bytes) -> Problem:
    (problem,) = problems_of(lay, **files)
    return problem


ALIAS = "alias,model_id,note\n"
NEW_MODEL = (
    "id,family,total_params,layers,hidden,heads,kv_heads,head_dim,vocab,tie_embeddings,"
    "attention_kind,modality,params_method,source\n"
    "acme/tiny,tiny,1000000,2,64,4,2,16,1000,false,gqa,text,counted,own model card\n"
)


def test_a_correction_changes_filled_cells_only(lay: Lay) -> None:
    catalog = lay(gpus="id,usable_mib,driver_mib,source\nH100,80000,,measured here\n")
    gpu = catalog.gpu("H100")
    assert gpu.usable_bytes == 80000 * MIB
    assert gpu.driver_bytes == load().gpu("H100").driver_bytes
    assert gpu.source == "measured here"
    assert catalog.gpu("A10G") == load().gpu("A10G")


def test_a_new_row_is_found_like_a_shipped_one(lay: Lay) -> None:
    catalog = lay(models=NEW_MODEL, model_aliases=ALIAS + "acme/small,acme/tiny,same\n")
    assert catalog.model("acme/tiny").native_format is None
    assert catalog.model("acme/small").id == "acme/tiny"
    assert catalog.model("ACME/tiny-AWQ").native_format == "awq"
    assert len(catalog.models()) == len(load().models()) + 1


def test_a_newer_price_wins(lay: Lay) -> None:
    header = "region,instance_type,price_type,date,amount,currency,unit,source\n"
    row = "us-east-1,g5.xlarge,on-demand,2026-11-29,0.9,USD,instance-hour,our contract\n"
    prices = lay(prices=header + row).prices("g5.xlarge", "us-east-1", PriceType.ON_DEMAND)
    assert (prices[0].usd, prices[0].source) == (0.9, "our contract")
    assert len(prices) == 1 + len(load().prices("g5.xlarge", "us-east-1", PriceType.ON_DEMAND))


def test_later_folders_lie_on_top(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, mib in zip(folders, ("70000", "71000"), strict=True):
        folder.mkdir()
        (folder / "gpus.csv").write_text(f"id,usable_mib\nH100,{mib}\n")
    assert load(folders).gpu("H100").usable_bytes == 71000 * MIB
    assert load(folders[::-1]).gpu("H100").usable_bytes == 70000 * MIB
    assert load(folders).digest != load(folders[::-1]).digest


def test_the_digest_tells_of_an_overlay(lay: Lay) -> None:
    plain = load().digest
    digest = lay(gpus="id,usable_mib\nH100,80000\n").digest
    assert digest.startswith(f"{plain}+")
    assert lay(gpus="id,usable_mib\nH100,80001\n").digest != digest


def test_byte_order_mark_line_endings_blank_lines_and_quotes_are_fine(lay: Lay) -> None:
    content = '\ufeffid,usable_mib,notes\r\n\r\nH100,80000,"a, ""b"""\r\n'
    assert lay(gpus=content).gpu("H100").notes == 'a, "b"'


def test_prose_and_hidden_files_may_lie_beside(lay: Lay, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("why")
    (tmp_path / ".gitkeep").write_text("")
    assert lay().gpus() == load().gpus()


@pytest.mark.parametrize(
    ("content", "line", "column", "path", "message"),
    [
        ("id,usable_mib\nH100,many\n", 2, 2, "usable_mib", "'many' is not a whole number"),
        ("id,usable_mib\nH100,1e4\n", 2, 2, "usable_mib", "is not a whole number"),
        ("id,usable_mib\nH100,-1\n", 2, 2, "usable_mib", "'-1' is less than 1"),
        ("id,usable_mib\nH100,90000\n", 2, 2, "usable_mib", "is more than driver_mib"),
        ("id,fp8_tflops\nH100,nan\n", 2, 2, "fp8_tflops", "'nan' is not a number"),
        ("id,fp8_tflops\nH100,1e999\n", 2, 2, "fp8_tflops", "is not a number"),
        ("id,cuda\nH100,yes\n", 2, 2, "cuda", "'yes' is not true or false"),
        ("id,confidence\nH100,AA\n", 2, 2, "confidence", "'AA' is not a known word"),
        ("id,compute_capability\nH100,9\n", 2, 2, "compute_capability", "is not written as"),
        ("usable_mib,id\n1,H100\n90000,H100\n", 3, 2, "id", "'H100' is on line 2 too"),
        ("id,usable_mib\nH100\n", 2, None, "", "1 cells, and the header has 2"),
        ('id,notes\nH100,"a\nb"\n', 2, 2, "", "line break"),
        ('id,notes\nH100,"a"b\n', 2, None, "", "not CSV"),
        ("id,notes\nA10G,ok\nH100,a\0b\n", 3, None, "", "a NUL character"),
        (b"id,notes\nA10G,ok\nH100,\xff\n", 3, None, "", "not UTF-8"),
        ("", None, None, "", "no header"),
    ],
)
def test_a_bad_cell_is_told_with_its_place(
    lay: Lay, content: str | bytes, line: int | None, column: int | None, path: str, message: str
) -> None:
    problem = problem_of(lay, gpus=content)
    assert problem.file.endswith("gpus.csv")
    assert (problem.line, problem.column, problem.path) == (line, column, path)
    assert message in problem.message


@pytest.mark.parametrize(
    ("header", "column", "message", "fix"),
    [
        ("id,usable_mb", 2, "unknown column 'usable_mb'", "usable_mib"),
        ("id,zzz", 2, "unknown column 'zzz'", "columns are id, "),
        ("id,notes,id", 3, "column 'id' stands twice", "keep one"),
        ("usable_mib", None, "no column id", "told apart by id"),
    ],
)
def test_a_bad_header_is_told(
    lay: Lay, header: str, column: int | None, message: str, fix: str
) -> None:
    problem = problem_of(lay, gpus=f"{header}\n")
    assert (problem.line, problem.column, problem.message) == (1, column, message)
    assert fix in problem.fix


def test_a_new_row_needs_its_required_columns(lay: Lay) -> None:
    problems = problems_of(lay, gpus="id\nX1\n")
    assert {"vendor", "native_fp8", "source"} <= {problem.path for problem in problems}
    assert all("a new row needs it" in problem.message for problem in problems)


def test_a_misspelt_word_gets_did_you_mean(lay: Lay) -> None:
    problem = problem_of(lay, instances="id,status\ng5.xlarge,curent\n")
    assert problem.fix == "did you mean current?"


def test_every_problem_of_every_file_is_told_at_once(lay: Lay) -> None:
    problems = problems_of(
        lay,
        gpus="id,usable_mib\nH100,x\nA10G,y\n",
        instances="id,vcpus\ng5.xlarge,z\n",
        model_aliases=ALIAS + "a/b,nobody/nothing,x\n",
    )
    assert [Path(problem.file).name for problem in problems] == [
        "gpus.csv",
        "gpus.csv",
        "instances.csv",
        "model_aliases.csv",
    ]


@pytest.mark.parametrize(
    ("files", "message", "fix"),
    [
        (
            {"instances": "id,gpu_id\ng5.xlarge,A10\ng6.xlarge,L4S\n"},
            "'L4S' is not in gpus",
            "L40S",
        ),
        (
            {"model_aliases": ALIAS + "a/b,nobody/nothing,x\n"},
            "'nobody/nothing' is not in models",
            "add a row to models.csv",
        ),
        (
            {"models": "id,native_format\nQwen/Qwen3-8B,fp7\n"},
            "'fp7' is not in formats",
            "fp8",
        ),
    ],
)
def test_references_must_name_rows(lay: Lay, files: dict[str, str], message: str, fix: str) -> None:
    problem = problem_of(lay, **files)
    assert problem.message == message
    assert fix in problem.fix


def test_region_patterns_are_no_references(lay: Lay) -> None:
    header = "region,instance_type,price_type,date,amount,currency,unit,source\n"
    row = "us-*,g5.xlarge,reserved-1y,2026-11-29,0.5,USD,instance-hour,our contract\n"
    catalog = lay(prices=header + row)
    (price,) = catalog.prices("g5.xlarge", "us-west-2", PriceType.RESERVED_1Y)
    assert price.is_grouped


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("layer_pattern", "full:3", "does not add up to 2 layers"),
        ("kv_heads", "3", "does not divide 4 heads"),
        ("experts_active", "8", "is more than experts_total"),
        ("active_params", "2000000", "is more than total_params"),
        ("vision_params", "1000000", "leaves nothing of total_params"),
    ],
)
def test_columns_must_agree(lay: Lay, column: str, cell: str, message: str) -> None:
    correction = f"id,{column}\nacme/tiny,{cell}\n"
    with_model = lay(models=NEW_MODEL)
    assert with_model.model("acme/tiny").layers == 2
    header, row, _ = NEW_MODEL.split("\n")
    if column in header.split(","):
        cells = row.split(",")
        cells[header.split(",").index(column)] = cell
        correction = f"{header}\n{','.join(cells)}\n"
    else:
        correction = f"{header},{column}\n{row},{cell}\n"
    problem = problem_of(lay, models=correction)
    assert (problem.path, problem.line) == (column, 2)
    assert problem.message == message


def test_a_cuda_device_needs_a_compute_capability(lay: Lay) -> None:
    problem = problem_of(lay, gpus="id,cuda\nMI300X,true\n")
    assert problem.path == "compute_capability"


def test_an_unknown_file_gets_did_you_mean(lay: Lay, tmp_path: Path) -> None:
    (tmp_path / "gpu.csv").write_text("id\n")
    problem = problem_of(lay)
    assert "not a table" in problem.message
    assert "gpus.csv" in problem.fix


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(GpuSizeError, match="No such file or directory"):
        load([tmp_path / "nowhere"])


def test_a_file_instead_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "gpus.csv").write_text("id\n")
    with pytest.raises(GpuSizeError, match="name a folder of CSV files"):
        load([tmp_path / "gpus.csv"])


def test_a_folder_called_like_a_table_is_told(lay: Lay, tmp_path: Path) -> None:
    (tmp_path / "gpus.csv").mkdir()
    assert "a folder, not a table" in problem_of(lay).message


def test_links_to_files_are_followed_and_broken_ones_told(lay: Lay, tmp_path: Path) -> None:
    target = tmp_path / ".gpus"
    target.write_text("id,usable_mib\nH100,80000\n")
    (tmp_path / "gpus.csv").symlink_to(target)
    assert lay().gpu("H100").usable_bytes == 80000 * MIB
    target.unlink()
    assert "cannot be read" in problem_of(lay).message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_pipe_is_not_waited_for(lay: Lay, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gpus.csv")
    assert "not a regular file" in problem_of(lay).message


def test_a_large_file_is_refused(lay: Lay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "LARGEST_FILE", 2**20)
    assert "larger than 1 MiB" in problem_of(lay, gpus=b"x" * (2**20 + 1)).message


def test_many_rows_are_refused(lay: Lay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MOST_ROWS", 3)
    content = "id,usable_mib\n" + "H100,80000\n" * 5
    assert "more than 3 rows" in problems_of(lay, gpus=content)[0].message


def test_looking_stops_after_enough_problems(lay: Lay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "ENOUGH_PROBLEMS", 10)
    rows = "".join(f"a/b{number},nobody/nothing,\n" for number in range(50))
    problems = problems_of(lay, model_aliases=ALIAS + rows)
    assert len(problems) == 11
    assert "not looked at" in problems[-1].message
    assert len(problems_of(lay, model_aliases=ALIAS + "x\n" * 50)) == 11


def test_an_error_shows_place_and_fix_on_one_line(lay: Lay, tmp_path: Path) -> None:
    problem = problem_of(lay, instances="id,status\ng5.xlarge,curent\n")
    assert str(problem) == (
        f"{tmp_path / 'instances.csv'}:2:2: status: 'curent' is not a known word"
        " (did you mean current?)"
    )


def test_a_header_wider_than_the_table_is_told_once(lay: Lay) -> None:
    problem = problem_of(lay, model_aliases="a," * 1_000_000)
    assert problem.message == "1000001 columns, and the table has 5"
