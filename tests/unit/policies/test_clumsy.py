"""The command in clumsy and in hostile hands: nothing is lost, nothing is obeyed, all is told."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpusize.lock import read_lock, render
from gpusize_policies.cli import main
from gpusize_policies.commands import emit

DECLARED = """\
workloads:
  NAME:
    kind: serving
    model: meta-llama/Llama-3.1-8B-Instruct
    contextLength: 8192
    region: us-east-1
"""
ESCAPE = "\x1b]0;title\x07"
"""What makes a terminal change its title."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpusize.yaml").write_text(DECLARED.replace("NAME", "chat"))
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["check", ""],
        ["check", "--today", "", "gpusize.yaml"],
        ["check", "--settings", " ", "gpusize.yaml"],
        ["check", "--catalog", "", "gpusize.yaml"],
        ["check", "--output", "", "gpusize.yaml"],
        ["lock", "--lock", "", "gpusize.yaml"],
        ["explain", ""],
        ["catalog", "show", ""],
        ["catalog", "search", " "],
        ["schema", "workload", "--output", ""],
    ],
)
def test_a_word_that_is_empty_is_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "is empty" in capsys.readouterr().err


@pytest.mark.parametrize("day", ["20261130", "2026-W48-1", "2026-11-31", "2026-11-30 ", "x"])
def test_a_day_has_one_form(day: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--today", day, "gpusize.yaml"]) == 2
    assert "YYYY-MM-DD" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["check", "--output", "gpusize.yaml", "gpusize.yaml"], "--output"),
        (["resolve", "--output", "./gpusize.yaml", "other.yaml", "gpusize.yaml"], "--output"),
        (["explain", "--output", "gpusize.yaml", "gpusize.yaml"], "--output"),
        (["lock", "--lock", "link.yaml", "gpusize.yaml"], "--lock"),
        (
            ["check", "--output", "s.yaml", "--settings", "s.yaml", "gpusize.yaml"],
            "--output",
        ),
    ],
)
def test_an_input_is_never_written_over(
    words: list[str], option: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "link.yaml").symlink_to("gpusize.yaml")
    (folder / "s.yaml").write_text("preset: strict\n")
    before = {path: path.read_text() for path in folder.iterdir()}
    assert main(words) == 2
    assert f"{option}: would be written over an input" in capsys.readouterr().err
    assert {path: path.read_text() for path in folder.iterdir()} == before


def test_an_unknown_region_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "show", "g6.xlarge", "--region", "us-esat-1"]) == 2
    assert "us-east-1" in capsys.readouterr().err


def test_what_cannot_be_written_is_told_by_its_own_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["rules", "--output", "missing/rules.txt"]) == 2
    assert capsys.readouterr().err.startswith("error: missing/rules.txt: cannot be written")


@pytest.mark.parametrize("words", [["check"], ["resolve"], ["explain"], ["lock"]])
def test_a_terminal_obeys_no_name(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = "gpusize:index:GpuWorkload"
    properties = {"kind": "serving", "model": f"x{ESCAPE}", "instanceType": f"g5{ESCAPE}"}
    resources = {f"a{ESCAPE}": {"type": token, "properties": properties}}
    named = folder / f"name{ESCAPE}.json"
    named.write_text(json.dumps({"resources": resources}))
    for file in (named.name, "absent\x1b[2J", "absent\u202e"):
        main([*words, file])
        captured = capsys.readouterr()
        assert (captured.out + captured.err).replace("\n", "").isprintable()


def test_a_good_program_with_a_bad_name_is_shown_escaped(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = json.loads(json.dumps(DECLARED))
    properties = "".join(f"    {line}\n" for line in declared.splitlines()[2:])
    text = 'resources:\n  "a\\e]0;x\\a":\n    type: gpusize:index:GpuWorkload\n    properties:\n'
    (folder / "Pulumi.yaml").write_text(text + properties)
    assert main(["check", "Pulumi.yaml"]) == 0
    assert "a\\u001b]0;x\\u0007" in capsys.readouterr().out
    assert main(["check", "--format", "json", "Pulumi.yaml"]) == 0
    (workload,) = json.loads(capsys.readouterr().out)["workloads"]
    assert workload["name"] == "a\x1b]0;x\x07"
    monkeypatch.setattr("gpusize_policies.commands.check.wants_color", lambda: True)
    assert main(["check", "Pulumi.yaml"]) == 0
    out = capsys.readouterr().out
    assert "\x1b[1ma\\u001b]0;x\\u0007\x1b[0m" in out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "cp1252"])
@pytest.mark.parametrize("text", ["größe", "模型", "😀", "\ud800", "\u202e", "a\x9bb", "\x00"])
def test_json_stays_json_in_every_encoding(
    text: str, encoding: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    line = json.dumps({"name": text}, ensure_ascii=False) + "\n"
    emit.emit(line)
    stream.flush()
    printed = stream.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    emit.emit(line, "out.json")
    for made in (printed, (folder / "out.json").read_text(encoding="utf-8")):
        assert json.loads(made) == {"name": text}
        assert made.rstrip("\n").isprintable()


def test_locks_that_are_written_at_once_lose_nothing(folder: Path) -> None:
    names = [f"w{number}" for number in range(3)]
    code = "import sys; from gpusize_policies.cli import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", code, "lock", "--lock", "gpusize.lock"]
    for name in names:
        (folder / f"{name}.yaml").write_text(DECLARED.replace("NAME", name))
    runs = [subprocess.Popen([*words, f"{name}.yaml"]) for name in names]
    assert [run.wait(timeout=60) for run in runs] == [0] * len(names)
    assert sorted(json.loads((folder / "gpusize.lock").read_text())["decisions"]) == names
    assert list(folder.glob(".*")) == []


def test_a_lock_of_many_workloads_is_read_again(folder: Path) -> None:
    assert main(["lock", "gpusize.yaml"]) == 0
    path = folder / "gpusize.lock"
    entry = read_lock(path)["chat"]
    path.write_text(render({f"w{number}": entry for number in range(10_000)}))
    assert main(["check", "gpusize.yaml"]) == 0
    assert len(read_lock(path)) == 10_000


def test_sizes_that_suit_no_type_say_nothing_of_a_type_that_nobody_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = DECLARED.replace("NAME", "chat") + "    tp: 3\n"
    (folder / "gpusize.yaml").write_text(declared)
    assert main(["check", "--format", "json", "gpusize.yaml"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert [one["code"] for one in data["workloads"][0]["findings"]] == ["GPU301"]
    assert main(["resolve", "gpusize.yaml"]) == 1
    assert len(capsys.readouterr().out.splitlines()) < 10


def test_resolve_says_that_a_pinned_type_is_unknown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = DECLARED.replace("NAME", "chat") + "    instanceType: g6e.xlage\n"
    (folder / "gpusize.yaml").write_text(declared)
    assert main(["resolve", "gpusize.yaml"]) == 1
    assert "g6e.xlage is no instance type of the catalog (did you" in capsys.readouterr().out


def test_a_lock_that_no_file_can_be_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "gpusize-policy.yaml").write_text(f"lock: {'l' * 300}\n")
    assert main(["check", "gpusize.yaml"]) == 2
    assert "cannot be read" in capsys.readouterr().err
