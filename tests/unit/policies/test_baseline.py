"""A baseline in the command: written whole, honoured, and told where it is outdated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpusize_catalog.problems import GpuSizeError
from gpusize_policies.baseline import (
    Entry,
    Key,
    Target,
    key_of,
    may_hold,
    parse,
    read_baseline,
    render,
    schema,
    target_of,
)
from gpusize_policies.cli import main
from gpusize_policies.finding import Finding, Severity, Subject

URN = "urn:pulumi:dev::app::"
INSTANCE = "aws:ec2/instance:Instance"
FILE = "gpusize-baseline.json"
CHAT = """\
workloads:
  chat:
    kind: serving
    model: Qwen/Qwen2.5-7B-Instruct
    weightsFormat: fp8
    contextLength: 8192
    concurrency: 4
    userFacing: true
    region: us-east-1
    instanceType: g6.xlarge
    market: spot
"""
DRAFT = CHAT.replace("  chat:", "  draft:")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gpusize.yaml").write_text(CHAT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*words: str) -> int:
    return main(["check", "--today", "2026-11-30", *words])


def findings(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / FILE).read_text())["findings"]
    return found


def test_what_is_written_does_not_fail_and_stays_visible(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("gpusize.yaml") == 1
    assert check("gpusize.yaml", "--write-baseline", FILE) == 0
    told = capsys.readouterr()
    assert f"1 finding in {FILE}" in told.err
    assert check("gpusize.yaml", "--baseline", FILE) == 0
    told = capsys.readouterr()
    assert "error  GPU501 spot-for-user-facing" in told.out
    assert "(in the baseline)" in told.out
    assert "of them in the baseline" in told.out
    assert check("gpusize.yaml", "--baseline", FILE, "--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    marked = [one for one in report["workloads"][0]["findings"] if one.get("inBaseline")]
    assert report["summary"]["inBaseline"] == len(marked) == len(findings(folder))
    assert not report["summary"]["fails"]


def test_it_has_neither_numbers_nor_lines_and_is_as_its_schema_says(folder: Path) -> None:
    check("gpusize.yaml", "--write-baseline", FILE)
    jsonschema.Draft202012Validator(schema()).validate(json.loads((folder / FILE).read_text()))
    entry = next(one for one in findings(folder) if one["rule"].startswith("GPU501"))
    assert entry == {
        "rule": "GPU501-spot-for-user-facing",
        "severity": "error",
        "workload": "chat",
        "binding": {"instanceType": "g6.xlarge"},
        "source": "gpusize.yaml",
    }
    (folder / "gpusize.yaml").write_text("# moved\n\n" + CHAT.replace("8192", "4096"))
    assert check("gpusize.yaml", "--baseline", FILE) == 0


def test_what_is_new_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check("gpusize.yaml", "--write-baseline", FILE)
    (folder / "gpusize.yaml").write_text(CHAT + DRAFT.removeprefix("workloads:\n"))
    assert check("gpusize.yaml", "--baseline", FILE) == 1
    (folder / "gpusize.yaml").write_text(CHAT.replace("g6.xlarge", "g5.xlarge"))
    capsys.readouterr()
    assert check("gpusize.yaml", "--baseline", FILE) == 1
    assert "matches nothing any more: GPU501 of chat" in capsys.readouterr().out


def test_what_got_worse_counts_as_new(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = folder / "gpusize-policy.yaml"
    settings.write_text(f"baseline: {FILE}\nlevels: {{GPU501: warn}}\n")
    check("gpusize.yaml", "--write-baseline", FILE)
    assert check("gpusize.yaml") == 0
    settings.write_text(f"baseline: {FILE}\nlevels: {{GPU501: error}}\n")
    capsys.readouterr()
    assert check("gpusize.yaml") == 1
    assert "GPU501 of chat was a warning in the baseline" in capsys.readouterr().out
    settings.write_text(f"baseline: {FILE}\nlevels: {{GPU501: advice}}\n")
    assert check("gpusize.yaml") == 0


def test_it_shrinks_when_it_is_written_anew_and_keeps_what_was_not_judged(folder: Path) -> None:
    (folder / "drafts.yaml").write_text(DRAFT)
    check("gpusize.yaml", "drafts.yaml", "--write-baseline", FILE)
    assert {one["source"] for one in findings(folder)} == {"gpusize.yaml", "drafts.yaml"}
    (folder / "gpusize.yaml").write_text(CHAT.replace("market: spot", "market: on-demand"))
    check("gpusize.yaml", "--write-baseline", FILE)
    assert not any(
        one["workload"] == "chat" and one["rule"].startswith("GPU501") for one in findings(folder)
    )
    assert any(one["workload"] == "draft" for one in findings(folder))
    (folder / "drafts.yaml").write_text(DRAFT.replace("draft:", "other:"))
    check("gpusize.yaml", "drafts.yaml", "--write-baseline", FILE)
    assert not any(one["workload"] == "draft" for one in findings(folder))


def test_a_waived_finding_is_not_written(folder: Path) -> None:
    waiver = (
        "waivers: [{rule: GPU501, workload: chat, owner: us, expires: 2026-12-31,"
        " reason: the demo may stop at any time}]\n"
    )
    check("gpusize.yaml", "--write-baseline", FILE)
    assert any(one["rule"].startswith("GPU501") for one in findings(folder))
    (folder / "gpusize-policy.yaml").write_text(waiver)
    assert check("gpusize.yaml", "--baseline", FILE) == 0
    check("gpusize.yaml", "--write-baseline", FILE)
    assert not any(one["rule"].startswith("GPU501") for one in findings(folder))


def test_nothing_is_written_where_a_file_is_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "wrong.yaml").write_text("workloads: {a: {kind: serbing}}\n")
    assert check("gpusize.yaml", "wrong.yaml", "--write-baseline", FILE) == 2
    assert not (folder / FILE).exists()
    assert check("gpusize.yaml", "--baseline", FILE) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert check("gpusize.yaml", "--write-baseline", "gpusize.yaml") == 2
    assert (folder / "gpusize.yaml").read_text() == CHAT
    assert [one.name for one in folder.iterdir() if one.suffix == ".tmp"] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ('{"version": true, "findings": []}', "version: is not 1"),
        ('{"version": 1, "findings": [], "\\u001b[31m": 1}', "?[31m: unknown key"),
        (
            '{"version": 1, "findings": [{"rule": "GPU501", "severity": "error", '
            '"severity": "warn"}]}',
            "says a key twice",
        ),
        (
            '{"version": 1, "findings": [{"rule": "GPU501", "severity": "warn"}, '
            '{"rule": "GPU501", "severity": "error"}]}',
            "findings[1]: says another severity",
        ),
        (
            '{"version": 1, "findings": [{"rule": "GPU501", "severity": "warn", '
            '"binding": {"instanceTyp": "g6.xlarge"}}]}',
            "findings[0].binding.instanceTyp: unknown key (did you mean instanceType?)",
        ),
        ("[]", "version: is not 1"),
        ('{"version": 1}', "findings: is not a list"),
        ('{"version": 1, "findings": [], "x": 1}', "x: unknown key"),
        ('{"version": 1, "findings": [3]}', "findings[0]: is not a mapping"),
        ('{"version": 1, "findings": [{"rule": "GPU5O1", "severity": "error"}]}', "no such rule"),
        ('{"version": 1, "findings": [{"rule": "GPU501"}]}', "neither error nor warn"),
        (
            '{"version": 1, "findings": [{"rule": "GPU501", "severity": "warn", "worklod": "a"}]}',
            "did you mean workload?",
        ),
        (
            '{"version": 1, "findings": [{"rule": "GPU501", "severity": "warn", "part": 1}]}',
            "findings[0].part: takes a text",
        ),
        (
            '{"version": 1, "findings": [{"rule": "GPU501", "severity": "warn", "binding": []}]}',
            "findings[0].binding",
        ),
    ],
)
def test_a_broken_file_is_told(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(GpuSizeError) as told:
        read_baseline(tmp_path / FILE)
    assert words in str(told.value)


def test_a_byte_order_mark_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('\ufeff{"version": 1, "findings": []}', encoding="utf-8")
    assert read_baseline(tmp_path / FILE).entries == {}


def test_the_answer_is_never_written_over_the_baseline(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("gpusize.yaml", "--write-baseline", FILE, "--output", FILE) == 2
    assert "is the place of --output too" in capsys.readouterr().err
    assert not (folder / FILE).exists()
    assert check("gpusize.yaml", "--write-baseline", FILE) == 0
    (folder / "gpusize-policy.yaml").write_text(f"baseline: {FILE}\n")
    (folder / "gpusize.lock").write_text("{}")
    before = {path: path.read_text() for path in folder.iterdir()}
    for place in (FILE, "gpusize-policy.yaml", "gpusize.lock"):
        assert check("gpusize.yaml", "--output", place) == 2
        assert "--output: would be written over an input" in capsys.readouterr().err
    assert {path: path.read_text() for path in folder.iterdir()} == before


@pytest.mark.parametrize(("length", "code"), [(250, 0), (300, 2)])
def test_a_long_name_is_written_or_told(
    length: int, code: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("gpusize.yaml", "--write-baseline", "b" * length) == code
    written = [one.name for one in folder.iterdir() if one.name.startswith("b")]
    assert len(written) == (1 if code == 0 else 0)
    assert "internal" not in capsys.readouterr().err


def test_a_resource_is_named_alike_in_every_stack() -> None:
    chain = f"my:index:Box${INSTANCE}::kiosk::1"
    one = target_of(Subject("chat", f"urn:pulumi:dev::app::{chain}", path="overrides[1]"))
    assert one == target_of(Subject("chat", f"urn:pulumi:prod::app::{chain}", path="overrides[1]"))
    assert one == Target("chat", chain, "overrides[1]")
    component = f"{URN}gpusize:index:GpuWorkload::chat"
    assert target_of(Subject("chat", component)) == target_of(Subject("chat", file="a.yaml"))


def test_advice_and_what_was_not_judged_are_not_written() -> None:
    def one(code: str, severity: Severity) -> Finding:
        return Finding(code, "", severity, Subject("chat"), "")

    assert may_hold(one("GPU501", Severity.ERROR))
    assert may_hold(one("GPU101", Severity.ERROR))  # physics: it runs, so it was there before
    assert not may_hold(one("GPU501", Severity.ADVICE))
    assert not may_hold(one("GPU900", Severity.ERROR))
    assert not may_hold(one("GPU905", Severity.ERROR))


def test_entries_come_back_in_one_order() -> None:
    subject = Subject("chat", f"{URN}{INSTANCE}::kiosk")
    numbers = {"instanceType": "g6.xlarge", "needsGib": 25}
    key = key_of(Finding("GPU101", "", Severity.ERROR, subject, "", numbers=numbers))
    entries = [
        Entry(key, Severity.ERROR, "app/dev"),
        Entry(Key("GPU501", Target("chat")), Severity.WARN),
        Entry(Key("GPU909", Target()), Severity.ERROR),
    ]
    assert render(entries) == render(reversed(entries))
    read, problems = parse(json.loads(render(entries)))
    assert not problems
    assert set(read) == set(entries)
