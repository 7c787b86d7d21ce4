"""The command end to end: exit codes, problems, hints, and what it never does."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusize import __version__
from gpusize_policies import cli
from gpusize_policies.cli import COMMANDS, main
from gpusize_policies.commands import emit as emit_module

TODAY = ["--today", "2026-11-30"]

GOOD = """\
workloads:
  chat:
    kind: serving
    model: meta-llama/Llama-3.1-8B-Instruct
    weightsFormat: fp8
    contextLength: 8192
    promptTokens: {mean: 700, p95: 2500}
    outputTokens: {mean: 250, p95: 700}
    concurrency: 8
    region: us-east-1
"""
BAD = """\
workloads:
  chat:
    kind: serving
    model: meta-llama/Llama-3.1-70B-Instruct
    weightsFormat: fp16
    contextLength: 8192
    concurrency: 8
    userFacing: true
    region: us-east-1
    instanceType: g5.xlarge
    market: spot
"""
POOR = """\
workloads:
  chat:
    kind: serving
    model: meta-llama/Llama-3.1-8B-Instruct
    weightsFormat: fp8
    contextLength: 8192
    promptTokens: {mean: 700, p95: 2500}
    outputTokens: {mean: 250, p95: 700}
    concurrency: 4
    region: us-east-1
    instanceType: g5.xlarge
"""
WRONG = """\
workloads:
  chat:
    kind: serving
    modle: meta-llama/Llama-3.1-8B-Instruct
    contextLength: -1
    region: us-east-1
"""


class Outcome:
    """What one run printed and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


class Runner:
    """Runs the command in this process, in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def __call__(self, *arguments: str) -> Outcome:
        code = main(list(arguments))
        captured = self.capsys.readouterr()
        assert "Traceback" not in captured.err
        assert "internal error" not in captured.err
        return Outcome(code, captured.out, captured.err)


@pytest.fixture
def run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Runner:
    monkeypatch.chdir(tmp_path)
    return Runner(tmp_path, capsys)


def test_a_bad_plan_fails_with_both_findings_and_their_fixes(run: Runner) -> None:
    done = run("check", run.write("gpusize.yaml", BAD), *TODAY)
    assert done.code == 1
    assert "GPU101 weights-exceed-vram: workload 'chat': weights need 131.4 GiB" in done.out
    assert "20.3 GiB usable" in done.out
    assert "GPU501 spot-for-user-facing" in done.out
    assert done.out.count("Fix: ") == 2
    assert "1 workload, 2 errors" in done.out


def test_without_the_pins_it_passes_and_names_a_plan(run: Runner) -> None:
    text = BAD.replace("    instanceType: g5.xlarge\n    market: spot\n", "")
    done = run("check", run.write("gpusize.yaml", text), *TODAY)
    assert done.code == 0
    assert "/h, price of 20" in done.out
    assert "0 errors, 0 warnings" in done.out


@pytest.mark.parametrize(
    ("options", "code"),
    [([], 0), (["--fail-on", "warn"], 1), (["--strict"], 1), (["--fail-on", "advice"], 1)],
)
def test_the_threshold_decides_the_exit_code(run: Runner, options: list[str], code: int) -> None:
    done = run("check", run.write("gpusize.yaml", POOR), *options, *TODAY)
    assert "GPU202" in done.out
    assert done.code == code


def test_settings_beside_the_command_count_and_can_be_named(run: Runner) -> None:
    file = run.write("gpusize.yaml", POOR)
    run.write("gpusize-policy.yaml", "levels: {GPU202: error}\ntoday: 2026-11-30\n")
    assert run("check", file).code == 1
    other = run.write("other.yaml", "levels: {fp8-compute-unsupported: off}\n")
    done = run("check", file, "--settings", other, *TODAY)
    assert (done.code, "GPU202" in done.out) == (0, False)


def test_good_files_are_judged_though_others_are_wrong(run: Runner) -> None:
    files = [run.write("a.yaml", WRONG), run.write("b.yaml", BAD), "c.yaml"]
    done = run("check", *files, *TODAY)
    assert done.code == 2
    assert "GPU101" in done.out
    lines = done.err.splitlines()
    assert any("a.yaml:4" in line and "did you mean" in line for line in lines)
    assert any("a.yaml:5" in line and "contextLength" in line for line in lines)
    assert "error: c.yaml: no such file" in lines


def test_problems_stand_in_the_json_report_too(run: Runner) -> None:
    files = [run.write("a.yaml", WRONG), run.write("b.yaml", GOOD)]
    done = run("check", *files, "--format", "json", *TODAY)
    report = json.loads(done.out)
    assert done.code == 2
    assert {problem["file"] for problem in report["problems"]} == {"a.yaml"}
    assert [workload["name"] for workload in report["workloads"]] == ["chat"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("- a", "holds no workloads"),
        ("5", "holds no workloads"),
        ("workload: {}", "has no key `workloads`"),
        ("kind: serving", "one workload without a name"),
        ("resources: {}", "declares no GPU workload"),
    ],
)
def test_files_without_workloads_are_problems(run: Runner, text: str, says: str) -> None:
    done = run("check", run.write("gpusize.yaml", text), *TODAY)
    assert done.code == 2
    assert says in done.err
    assert done.out == ""


def test_an_unknown_model_is_a_problem_with_its_place_and_a_suggestion(run: Runner) -> None:
    text = GOOD.replace("Llama-3.1-8B-Instruct", "Lama-3.1-8B-Instructt")
    done = run("check", run.write("gpusize.yaml", text), *TODAY)
    assert done.code == 2
    assert "gpusize.yaml:" in done.err
    assert "did you mean" in done.err


def test_standard_input_is_a_file_too(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (BAD, json.dumps({"workloads": {}})):
        stream = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", stream)
        done = run("check", "-", *TODAY)
        assert done.code in (1, 2)
    assert "<stdin>" in done.err or done.out


def test_output_goes_to_a_file_whole(run: Runner) -> None:
    file = run.write("gpusize.yaml", GOOD)
    done = run("check", file, "--format", "json", "--output", "report.json", *TODAY)
    assert (done.code, done.out) == (0, "")
    assert json.loads((run.folder / "report.json").read_text())["formatVersion"] == 1
    assert {path.name for path in run.folder.iterdir()} == {"gpusize.yaml", "report.json"}


def test_output_that_cannot_be_written_leaves_nothing(run: Runner) -> None:
    file = run.write("gpusize.yaml", GOOD)
    for place in ("missing/report.json", "."):
        done = run("check", file, "--output", place, *TODAY)
        assert done.code == 2
        assert "cannot be written" in done.err
    assert [path.name for path in run.folder.iterdir()] == ["gpusize.yaml"]


def test_a_failed_write_keeps_the_old_content(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    run.write("report.txt", "old")
    file = run.write("gpusize.yaml", GOOD)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    done = run("check", file, "--output", "report.txt", *TODAY)
    assert done.code == 2
    assert "No space left" in done.err
    assert (run.folder / "report.txt").read_text() == "old"
    assert {path.name for path in run.folder.iterdir()} == {"gpusize.yaml", "report.txt"}


def test_a_device_is_written_to_and_not_replaced(run: Runner) -> None:
    done = run("check", run.write("gpusize.yaml", GOOD), "--output", os.devnull, *TODAY)
    assert done.code == 0
    assert not Path(os.devnull).is_file()


def test_a_link_stays_a_link_and_a_mode_stays(run: Runner) -> None:
    target = run.folder / "target.txt"
    target.write_text("old")
    target.chmod(0o640)
    (run.folder / "link.txt").symlink_to(target)
    emit_module.write_whole(run.folder / "link.txt", "new")
    assert (run.folder / "link.txt").is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["chek"], "did you mean `gpusize check`?"),
        (["nothing-like-it"], "`gpusize --help` lists them"),
        (["--format", "json"], "options stand after the command"),
        (["check"], "`gpusize check --help` shows its use"),
        (["check", "x", "--fromat", "json"], "did you mean --format?"),
        (["check", "x", "--format", "jsn"], "invalid choice"),
        (["check", "x", "--today", "tomorrow"], "write it as YYYY-MM-DD"),
        (["check", "x", "--settings", "none.yaml"], "none.yaml: no such file"),
        (["check", "x", "--catalog", "none"], "none"),
        (["explain", "weights-exced-vram"], "did you mean weights-exceed-vram"),
        (["explain", "GPU999"], "did you mean GPU"),
        (["catalog", "show", "g6e.xlarg"], "did you mean g6e.xlarge"),
        (["catalog", "show", "zzzzzzzzzz"], "try `gpusize catalog search`"),
        (["schema", "workloads"], "invalid choice"),
        (["lock"], "`gpusize lock --help` shows its use"),
    ],
)
def test_wrong_usage_exits_2_with_a_hint(run: Runner, arguments: list[str], says: str) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert says in done.err
    assert done.out == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(run: Runner, command: str) -> None:
    done = run(command, "--help")
    assert done.code == 0
    assert "examples:" in done.out
    assert f"gpusize {command}" in done.out


def test_help_without_a_command_is_an_error_and_asked_for_is_not(run: Runner) -> None:
    assert run().code == 2
    assert run("--help").code == 0
    for command in COMMANDS:
        assert f"  {command} " in run("help").out


def test_rules_are_listed_in_each_format(run: Runner) -> None:
    assert "GPU101  weights-exceed-vram" in run("rules").out
    data = json.loads(run("rules", "--format", "json").out)
    assert data[0]["code"] == "GPU100"
    assert "| GPU101 | [weights-exceed-vram](GPU101-weights-exceed-vram.md)" in (
        run("rules", "--format", "markdown").out
    )


@pytest.mark.parametrize("word", ["GPU101", "gpu101", "weights-exceed-vram"])
def test_a_rule_is_explained_by_code_or_name(run: Runner, word: str) -> None:
    done = run("explain", word)
    assert done.code == 0
    assert done.out.startswith("GPU101 weights-exceed-vram (error, since 0.1)")
    for section in ("Why:", "Fix:", "Sources:", "docs/rules/GPU101-weights-exceed-vram.md"):
        assert section in done.out


def test_a_rule_is_explained_as_data(run: Runner) -> None:
    data = json.loads(run("explain", "GPU101", "--format", "json").out)
    assert data["why"]
    assert data["severity"] == "error"


def test_a_file_is_explained_with_memory_and_rejections(run: Runner) -> None:
    done = run("explain", run.write("gpusize.yaml", GOOD), *TODAY)
    assert done.code == 0
    for part in ("weights", "kv-cache", "next best", "not taken"):
        assert part in done.out


def test_resolve_prints_the_plan_and_fails_without_one(run: Runner) -> None:
    good = run("resolve", run.write("good.yaml", GOOD), *TODAY)
    assert (good.code, good.out.startswith("chat: g6.xlarge")) == (0, True)
    bad = run("resolve", run.write("bad.yaml", BAD), *TODAY)
    assert bad.code == 1
    assert "no plan" in bad.out
    assert "weights need 131.4 GiB" in bad.out
    assert "without the pins: " in bad.out
    data = json.loads(run("resolve", "good.yaml", "--format", "json", *TODAY).out)
    assert data[0]["plan"]["instanceType"] == "g6.xlarge"


def test_lock_keeps_a_decision_that_check_then_judges(run: Runner) -> None:
    file = run.write("gpusize.yaml", GOOD)
    assert run("lock", file, *TODAY).out == "chat: kept, g6.xlarge on-demand\n"
    assert run("lock", file, *TODAY).out == "chat: unchanged, g6.xlarge on-demand\n"
    lock = run.folder / "gpusize.lock"
    kept = json.loads(lock.read_text())
    kept["decisions"]["chat"].update(instanceType="g6e.xlarge", usdPerHour=1.861)
    lock.write_text(json.dumps(kept))
    done = run("check", file, *TODAY)
    assert done.code == 0
    assert "GPU810 decision-drift" in done.out
    assert "plan   g6e.xlarge" in done.out
    assert run("resolve", file, *TODAY).out.startswith("chat: g6.xlarge")
    assert run("lock", file, *TODAY).out == "chat: changed, g6.xlarge on-demand\n"
    assert "GPU810" not in run("check", file, *TODAY).out


def test_lock_of_another_file_keeps_the_entries_that_are_there(run: Runner) -> None:
    run("lock", run.write("a.yaml", GOOD), *TODAY)
    run("lock", run.write("b.yaml", GOOD.replace("chat:", "search:")), *TODAY)
    assert set(json.loads((run.folder / "gpusize.lock").read_text())["decisions"]) == {
        "chat",
        "search",
    }


def test_lock_without_a_plan_writes_nothing(run: Runner) -> None:
    done = run("lock", run.write("gpusize.yaml", BAD), *TODAY)
    assert done.code == 1
    assert "gpusize.yaml:2:3: workloads.chat: has no plan" in done.err
    assert not (run.folder / "gpusize.lock").exists()


def test_a_broken_lock_is_a_problem(run: Runner) -> None:
    file = run.write("gpusize.yaml", GOOD)
    run.write("gpusize.lock", "{")
    done = run("check", file, *TODAY)
    assert done.code == 2
    assert "gpusize.lock" in done.err


def _export(outputs: dict[str, Any]) -> str:
    component = {
        "urn": "urn:pulumi:dev::app::gpusize:index:GpuWorkload::chat",
        "type": "gpusize:index:GpuWorkload",
        "outputs": outputs,
    }
    stack = {"urn": "urn:pulumi:dev::app::pulumi:pulumi:Stack::app-dev", "type": "other"}
    return json.dumps({"version": 3, "deployment": {"resources": [stack, component]}})


DEPLOYED: dict[str, Any] = {
    "instanceType": "g6.xlarge",
    "nodes": 1,
    "layout": {"tp": 1, "pp": 1, "dp": 1, "ep": 1},
    "region": "us-east-1",
    "market": "on-demand",
    "scaling": "fixed",
    "hourlyCost": 0.8048,
    "priceDate": "2026-07-20",
    "catalogVersion": "2026-07-20",
    "catalogDigest": "0123456789ab",
    "version": "0.1.0",
    "declaration": {
        "kind": "serving",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "contextLength": 8192,
        "region": "us-east-1",
    },
}


def test_lock_keeps_what_a_stack_export_shows_as_deployed(run: Runner) -> None:
    done = run("lock", run.write("stack.json", _export(DEPLOYED)), *TODAY)
    assert (done.code, done.out) == (0, "chat: kept, g6.xlarge on-demand\n")
    entry = json.loads((run.folder / "gpusize.lock").read_text())["decisions"]["chat"]
    assert entry["catalogVersion"] == "2026-07-20"
    assert entry["usdPerHour"] == 0.8048


@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        ({}, "holds no decision"),
        ({**DEPLOYED, "declaration": {"kind": "serving"}}, "workload 'chat': "),
        ({**DEPLOYED, "instanceType": None}, "holds no decision"),
    ],
)
def test_an_export_without_decisions_is_a_problem(
    run: Runner, outputs: dict[str, Any], says: str
) -> None:
    done = run("lock", run.write("stack.json", _export(outputs)), *TODAY)
    assert done.code == 2
    assert says in done.err
    assert not (run.folder / "gpusize.lock").exists()


def test_an_export_without_components_is_a_problem(run: Runner) -> None:
    text = json.dumps({"deployment": {"resources": []}})
    done = run("lock", run.write("stack.json", text), *TODAY)
    assert done.code == 2
    assert "holds no gpusize:index:GpuWorkload" in done.err


@pytest.mark.parametrize(
    "word", ["g6e.xlarge", "L40S", "FLUX.1-dev", "vllm", "fp8", "us-east-1", "spot"]
)
def test_every_table_is_shown(run: Runner, word: str) -> None:
    assert run("catalog", "show", word).code == 0
    assert json.loads(run("catalog", "show", word, "--format", "json").out)[0]["table"]


def test_a_model_is_shown_by_its_alias_and_says_so(run: Runner) -> None:
    done = run("catalog", "show", "meta-llama/Llama-3.1-70B-Instruct")
    assert "assumed" in done.out
    assert re.search(r"^- +does not apply: .*kvLoraRank.*expertsTotal", done.out, re.MULTILINE)
    assert re.search(r"^not known +mtpLayers$", done.out, re.MULTILINE)


def test_what_a_mixture_of_experts_lacks_is_not_known(run: Runner) -> None:
    done = run("catalog", "show", "Qwen/Qwen3-30B-A3B")
    assert re.search(r"^not known .*sharedExperts", done.out, re.MULTILINE)


def test_codes_of_a_row_are_explained(run: Runner) -> None:
    assert "SOURCES.md" in run("catalog", "show", "L40S").out


def test_an_instance_is_shown_with_dated_prices(run: Runner) -> None:
    done = run("catalog", "show", "g6e.xlarge", "--region", "us-east-1")
    assert "on-demand: 1.861 USD instance-hour, 2026-07-20" in done.out


def test_search_finds_and_says_when_it_does_not(run: Runner) -> None:
    assert "g6e.xlarge" in run("catalog", "search", "g6e").out
    assert run("catalog", "search", "no-such-thing").code == 1
    assert json.loads(run("catalog", "search", "l40s", "--format", "json").out)


@pytest.mark.parametrize("what", ["workload", "settings", "report"])
def test_schemas_are_printed(run: Runner, what: str) -> None:
    assert json.loads(run("schema", what).out)["$schema"]


def test_colour_is_for_terminals_that_want_it(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    file = run.write("gpusize.yaml", BAD)
    assert "\x1b" not in run("check", file, *TODAY).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "\x1b[31m" in run("check", file, *TODAY).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("check", file, *TODAY).out


def test_an_interruption_exits_130(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_dispatch", interrupt)
    assert run("rules").code == 130


def test_a_defect_is_told_by_its_place_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise RuntimeError("AKIA-SECRET")

    monkeypatch.setattr(cli, "_dispatch", fail)
    assert main(["rules"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("gpusize: internal error: RuntimeError at test_command.py:")
    assert "SECRET" not in told
    monkeypatch.setenv("GPUSIZE_TRACEBACK", "1")
    main(["rules"])
    assert "Traceback" in capsys.readouterr().err


def test_names_that_cannot_be_printed_are_printed_as_escapes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    emit_module.emit("größe \ud800\n")
    stream.flush()
    assert stream.buffer.getvalue() == b"gr\\u00f6\\u00dfe \\ud800\n"  # type: ignore[attr-defined]


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    content=st.binary(max_size=80)
    | st.text(max_size=80).map(lambda text: text.encode("utf-8", "replace")),
    command=st.sampled_from(["check", "resolve", "explain", "lock"]),
    suffix=st.sampled_from([".yaml", ".json"]),
)
def test_any_bytes_as_a_file_are_told_and_give_no_traceback(
    run: Runner, content: bytes, command: str, suffix: str
) -> None:
    path = run.folder / f"any{suffix}"
    path.write_bytes(content)
    done = run(command, str(path), *TODAY)
    assert done.code == 2
    assert done.err.startswith("error: ")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.dictionaries(
        st.sampled_from(
            ["kind", "model", "contextLength", "region", "tp", "instanceType", "engine", "market"]
        ),
        st.sampled_from(
            ["serving", "g6.xlarge", "us-east-1", 8192, -1, None, [], {}, "x" * 500, "\x1b[31m"]
        ),
        max_size=5,
    )
)
def test_any_declaration_is_judged_or_told(run: Runner, raw: dict[str, Any]) -> None:
    text = json.dumps({"workloads": {"chat": raw}})
    done = run("check", run.write("any.json", text), *TODAY)
    assert done.code in (0, 1, 2)
    assert "\x1b" not in done.out + done.err


GPUSIZE = str(Path(sys.executable).with_name("gpusize"))


def test_the_version_is_printed_without_anything_heavy() -> None:
    program = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "from gpusize_policies.cli import main\n"
        "main(['--version'])\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    version, modules = done.stdout.splitlines()
    assert version == f"gpusize {__version__}"
    assert set(modules.split()) <= {
        "__future__",
        "gpusize",
        "gpusize_policies",
        "gpusize_policies.cli",
    }


def test_listing_rules_imports_no_model_of_anything() -> None:
    program = (
        "import sys\n"
        "from gpusize_policies.cli import main\n"
        "main(['rules'])\n"
        "print(*sorted(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    modules = set(done.stdout.splitlines()[-1].split())
    assert not modules & {"pydantic", "yaml", "jsonschema", "gpusize.resolve", "gpusize.workload"}


def test_the_version_is_that_of_the_project() -> None:
    pyproject = Path(__file__).parents[3] / "pyproject.toml"
    assert f'\nversion = "{__version__}"\n' in pyproject.read_text(encoding="utf-8")


@pytest.mark.skipif(not Path(GPUSIZE).exists(), reason="the command is not installed")
def test_the_installed_command_ends_with_the_exit_code(tmp_path: Path) -> None:
    file = tmp_path / "gpusize.yaml"
    for text, code in ((GOOD, 0), (BAD, 1), (WRONG, 2)):
        file.write_text(text, encoding="utf-8")
        done = subprocess.run([GPUSIZE, "check", str(file), *TODAY], capture_output=True, text=True)
        assert done.returncode == code, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_output_that_finds_no_room_is_told() -> None:
    command = f"'{GPUSIZE}' rules > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "gpusize: cannot write: No space left on device\n"


@pytest.mark.skipif(not Path(GPUSIZE).exists(), reason="the command is not installed")
def test_closed_streams_are_no_traceback(tmp_path: Path) -> None:
    for command, code in (("rules >&-", 0), ("check - <&-", 2)):
        done = subprocess.run(
            ["bash", "-c", f"'{GPUSIZE}' {command}"], capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == code
        assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path(GPUSIZE).exists(), reason="the command is not installed")
def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    command = f"'{GPUSIZE}' catalog search a | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
