"""Preview with the policy pack, against an empty pack and with none, at two sizes of a stack.

What the pack costs per resource is the slope between the sizes, over the empty pack's, since the
engine itself grows faster than its stack. The stack has every kind of resource that selects
instances, half of them tagged, and machines that must be declared: every rule is on.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.mixed import mixed
from bench.processes import Command, run_once
from bench.report import Figure
from tools.engine.environment import engine_environ, use_fake_aws
from tools.engine.find import ROOT, find_engine

RUNS = 5
SIZES = (10, 500)
MS_PER_RESOURCE = 1.5
NO_PACK, EMPTY_PACK, PACK = "no pack", "empty pack", "gpusize pack"

PROGRAM = """\
import json

import pulumi

OPTS = pulumi.ResourceOptions(version="7.51.1")
with open("resources.json") as file:
    for token, name, properties in json.load(file):
        pulumi.CustomResource(token, name, properties, OPTS)
"""

DECLARATION = """\
workloads:
  chat:
    kind: serving
    model: meta-llama/Llama-3.1-8B-Instruct
    weightsFormat: fp8
    contextLength: 8192
    concurrency: 8
    region: us-east-1
"""
SETTINGS = (
    "preset: observe\nrequireDeclaration: true\nteam: {maxMonthly: 10000000, maxGpus: 100000}\n"
)


def write_program(folder: Path, size: int) -> Path:
    """Write a stack of `size` resources with its declaration."""
    folder.mkdir()
    python = Path(os.path.relpath(ROOT / ".venv", folder))
    (folder / "Pulumi.yaml").write_text(
        f"name: bench-{size}\n"
        f"runtime: {{name: python, options: {{toolchain: pip, virtualenv: {python}}}}}\n"
        'config:\n  aws:region: {value: us-east-1}\n  gpusize:today: {value: "2026-11-30"}\n',
        encoding="utf-8",
    )
    (folder / "__main__.py").write_text(PROGRAM, encoding="utf-8")
    (folder / "resources.json").write_text(json.dumps(list(mixed(size))), encoding="utf-8")
    (folder / "gpusize-policy.yaml").write_text(SETTINGS, encoding="utf-8")
    (folder / "gpusize.yaml").write_text(DECLARATION, encoding="utf-8")
    use_fake_aws(folder)
    return folder


def write_empty_pack(folder: Path) -> Path:
    """Write a pack with one policy that looks at nothing."""
    folder.mkdir()
    python = Path(os.path.relpath(ROOT / ".venv", folder))
    (folder / "PulumiPolicy.yaml").write_text(
        f"runtime: {{name: python, options: {{toolchain: pip, virtualenv: {python}}}}}\n",
        encoding="utf-8",
    )
    (folder / "__main__.py").write_text(
        "from pulumi_policy import PolicyPack, ResourceValidationPolicy\n"
        "nothing = ResourceValidationPolicy('nothing', 'Looks at nothing.', lambda a, r: None)\n"
        "PolicyPack('empty', policies=[nothing])\n",
        encoding="utf-8",
    )
    return folder


def previews(program: Path, empty: Path, env: Mapping[str, str]) -> list[Command]:
    """Return the three previews of one program; findings of the pack are no failure here."""
    base = ["pulumi", "preview", "--non-interactive", "--stack", "bench", "--suppress-outputs"]
    packs = {NO_PACK: [], EMPTY_PACK: [str(empty)], PACK: [str(ROOT / "policies")]}
    return [
        Command(name, [*base, *(f"--policy-pack={pack}" for pack in paths)], program, env)
        for name, paths in packs.items()
    ]


def slope(seconds: Mapping[tuple[int, str], float], pack: str) -> float:
    """Return the seconds that each further resource adds to a preview."""
    small, large = SIZES
    return (seconds[large, pack] - seconds[small, pack]) / (large - small)


def measure(runs: int, scratch: Path) -> list[Figure]:
    """Time the previews in turns; the slopes are compared within a turn."""
    engine = find_engine()
    if engine is None:
        print("preview: skipped, no Pulumi engine: run `make setup`", file=sys.stderr)
        return []
    env = engine_environ(engine, scratch / "engine")
    empty = write_empty_pack(scratch / "empty-pack")
    commands: dict[tuple[int, str], Command] = {}
    for size in SIZES:
        program = write_program(scratch / f"program-{size}", size)
        run_once(Command("stack init", ["pulumi", "stack", "init", "bench"], program, env))
        for command in previews(program, empty, env):
            commands[size, command.name] = command
    turns = [
        {key: run_once(command).seconds for key, command in commands.items()} for _ in range(runs)
    ]
    figures = [
        Figure(f"{size} resources, {name}", statistics.median(t[size, name] for t in turns), "s")
        for size, name in commands
    ]
    more = statistics.median(slope(turn, PACK) - slope(turn, EMPTY_PACK) for turn in turns)
    empty_more = statistics.median(slope(turn, EMPTY_PACK) - slope(turn, NO_PACK) for turn in turns)
    return [
        *figures,
        Figure("empty pack over none, per resource", empty_more * 1000, "ms"),
        Figure("pack over empty pack, per resource", more * 1000, "ms", MS_PER_RESOURCE),
    ]
