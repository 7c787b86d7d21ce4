"""Start-up of the command against a bare interpreter, `checkov` and `hf-mem`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench import peers
from bench.processes import Command, interleave, paired_ratio
from bench.report import Figure

MIB = 2**20
RUNS = 15
VERSION_RATIO = 3.0
VERSION_MIB = 30.0
CHECK_RATIO = 1.3
CHECK_BY_CHECKOV = 0.2

WORKLOAD = """\
workloads:
  chat:
    kind: serving
    model: meta-llama/Llama-3.1-8B-Instruct
    weightsFormat: fp8
    engine: vllm@0.20
    contextLength: 8192
    promptTokens: {mean: 700, p95: 2500}
    outputTokens: {mean: 250, p95: 700}
    concurrency: 16
    replicas: {min: 1, max: 2}
    latency: {timePerOutputTokenMs: 60, timeToFirstTokenMs: 1500}
    userFacing: true
    interruptionTolerance: none
    traffic: {shape: steady, hoursPerDay: 24}
    horizonMonths: 6
    region: us-east-1
"""


COUNT_FIELDS = """\
from typing import get_args
from pydantic import BaseModel
from gpusize.workload import Serving

def count(model):
    types = [field.annotation for field in model.model_fields.values()]
    parts = [part for one in types for part in (one, *get_args(one))]
    groups = [p for p in parts if isinstance(p, type) and issubclass(p, BaseModel)]
    return len(model.model_fields) + sum(map(count, groups))

print(count(Serving))
"""


def count_fields() -> int:
    """Count the fields of a serving workload and of the groups in it.

    In a process of its own: a child's peak memory counts from its parent's at the fork, so the
    bench itself must stay smaller than what it measures.
    """
    command = [sys.executable, "-c", COUNT_FIELDS]
    return int(subprocess.run(command, capture_output=True, check=True).stdout)


def bare_model() -> str:
    """Write the program to compare with: as many fields as the command's workload, in one file.

    It imports pydantic and yaml, builds one model of as many fields, parses the same declaration
    and checks it, with no sizing.
    """
    fields = [f"    field_{i}: int | None = None" for i in range(count_fields())]
    lines = [
        "import sys",
        "import pydantic, yaml",
        "class Workload(pydantic.BaseModel):",
        "    model_config = pydantic.ConfigDict(extra='allow', frozen=True)",
        *fields,
        "with open(sys.argv[1], encoding='utf-8') as file:",
        "    raw = yaml.load(file, Loader=getattr(yaml, 'CSafeLoader', yaml.SafeLoader))",
        "for workload in raw['workloads'].values():",
        "    Workload.model_validate(workload)",
    ]
    return "\n".join(lines) + "\n"


def measure(runs: int, scratch: Path) -> list[Figure]:
    """Time everything in turns; ratios are taken turn by turn."""
    declared = scratch / "gpusize.yaml"
    declared.write_text(WORKLOAD, encoding="utf-8")
    program = scratch / "bare.py"
    program.write_text(bare_model(), encoding="utf-8")
    python, gpusize = sys.executable, str(Path(sys.executable).with_name("gpusize"))
    commands = [
        Command("python -c pass", [python, "-c", "pass"]),
        Command("gpusize --version", [gpusize, "--version"]),
        Command("bare pydantic + yaml", [python, str(program), str(declared)]),
        Command("gpusize check", [gpusize, "check", str(declared), "--today", "2026-11-30"]),
    ]
    for peer, arguments in (("checkov", ["--version"]), ("hf-mem", ["--help"])):
        if command := peers.install(peer):
            commands.append(Command(f"{peer} {arguments[0]}", [str(command), *arguments]))
    timings = interleave(commands, runs)
    version, check = timings["gpusize --version"], timings["gpusize check"]
    figures = [
        Figure(name, timing.median * 1000, "ms", note=f"{timing.rss_bytes / MIB:.0f} MiB")
        for name, timing in timings.items()
    ]
    figures += [
        Figure(
            "--version by python -c pass",
            paired_ratio(version, timings["python -c pass"]),
            "x",
            VERSION_RATIO,
        ),
        Figure("--version memory", version.rss_bytes / MIB, "MiB", VERSION_MIB),
        Figure(
            "check by bare interpreter",
            paired_ratio(check, timings["bare pydantic + yaml"]),
            "x",
            CHECK_RATIO,
        ),
    ]
    if "checkov --version" in timings:
        ratio = paired_ratio(check, timings["checkov --version"])
        figures.append(Figure("check by checkov --version", ratio, "x", CHECK_BY_CHECKOV))
    if "hf-mem --help" in timings:
        ratio = paired_ratio(check, timings["hf-mem --help"])
        note = "any answer of hf-mem needs the network on top of its start"
        figures.append(Figure("check by hf-mem --help", ratio, "x", note=note))
    return figures
