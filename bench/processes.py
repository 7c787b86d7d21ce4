"""Times whole processes, interleaved, so that noise of the machine falls on all alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

KIB = 1024

NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""A variable of build machines: with it every start compiles again, which no user's start does."""


class Command(NamedTuple):
    name: str
    argv: Sequence[str]
    cwd: Path | None = None
    env: Mapping[str, str] | None = None
    exits: Sequence[int] = (0,)
    """Exit codes that count as done."""


class Sample(NamedTuple):
    seconds: float
    rss_bytes: int


class Timing(NamedTuple):
    name: str
    samples: list[Sample]

    @property
    def median(self) -> float:
        return statistics.median(sample.seconds for sample in self.samples)

    @property
    def best(self) -> float:
        return min(sample.seconds for sample in self.samples)

    @property
    def rss_bytes(self) -> int:
        return max(sample.rss_bytes for sample in self.samples)


def run_once(command: Command) -> Sample:
    """Run one command to its end; raises RuntimeError with its output when it fails."""
    environ = os.environ if command.env is None else command.env
    start = time.perf_counter()
    with subprocess.Popen(
        command.argv,
        cwd=command.cwd,
        env={name: value for name, value in environ.items() if name != NO_BYTECODE},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as child:
        assert child.stdout is not None
        output = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in command.exits:
        tail = output.decode(errors="replace")[-2000:]
        raise RuntimeError(f"{command.name} exited with {child.returncode}:\n{tail}")
    return Sample(seconds, usage.ru_maxrss * KIB)


def interleave(commands: Sequence[Command], runs: int, warm: int = 1) -> dict[str, Timing]:
    """Run each command `runs` times in turns after `warm` runs that do not count."""
    timings = {command.name: Timing(command.name, []) for command in commands}
    for turn in range(warm + runs):
        for command in commands:
            sample = run_once(command)
            if turn >= warm:
                timings[command.name].samples.append(sample)
    return timings


def paired_ratio(timing: Timing, base: Timing) -> float:
    """Median over the turns of this command's time by the base's time of the same turn."""
    return statistics.median(
        mine.seconds / other.seconds
        for mine, other in zip(timing.samples, base.samples, strict=True)
    )
