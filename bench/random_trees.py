"""Random stacks through the policy pack: nothing raised, nothing swallowed, no order that matters.

Each stack is made from a number, so a failure is tried again with `check_seed` of that number. The
work is spread over processes; some of it is done twice, under two seeds of Python's hashes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from bench.report import Figure

RUNS = 400
BLOCK = 200
"""Stacks that one process judges."""
TWICE = 10
"""One of so many blocks is judged under another seed of hashes too."""
SHOWN = 20
"""Failures that are printed."""
SEEDS = ("1", "2")


class Block(NamedTuple):
    """Some stacks by their numbers, and the seed of hashes that they are judged under."""

    start: int
    end: int
    hashes: str


class Judged(NamedTuple):
    """What came of a block."""

    digests: dict[str, str]
    findings: int
    failures: list[tuple[int, str]]


def blocks(runs: int) -> Iterator[Block]:
    """Spread the numbers over processes."""
    for index, start in enumerate(range(0, runs, BLOCK)):
        end = min(start + BLOCK, runs)
        yield Block(start, end, SEEDS[0])
        if index % TWICE == 0:
            yield Block(start, end, SEEDS[1])


def judged(block: Block) -> Judged:
    """Judge a block in a process of its own."""
    command = [sys.executable, "-m", "bench.random_trees", str(block.start), str(block.end)]
    environ = {**os.environ, "PYTHONHASHSEED": block.hashes}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        return Judged({}, 0, [(block.start, f"the process ended: {done.stderr[-400:]}")])
    found: dict[str, Any] = json.loads(done.stdout)
    return Judged(**found)


def measure(runs: int, _: Path) -> list[Figure]:
    """Judge so many stacks, and print what went wrong with the number of its stack."""
    start = time.perf_counter()
    todo = list(blocks(runs))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(judged, todo))
    seconds = time.perf_counter() - start
    by_seed: dict[str, dict[str, str]] = {seed: {} for seed in SEEDS}
    for block, found in zip(todo, done, strict=True):
        by_seed[block.hashes].update(found.digests)
    first, second = (by_seed[seed] for seed in SEEDS)
    differing = [seed for seed in second if first.get(seed) != second[seed]]
    failures = [failure for one in done for failure in one.failures]
    failures += [(int(seed), "says something else under other hashes") for seed in differing]
    for seed, failure in failures[:SHOWN]:
        print(f"random: seed {seed}: {failure}", file=sys.stderr)
    total = len(first) + len(second)
    return [
        Figure("stacks", runs, "stacks", note=f"{len(second)} of them under two seeds of hashes"),
        Figure(
            "findings of a stack", sum(one.findings for one in done) / max(total, 1), "findings"
        ),
        Figure("rate, judged three times each", total / seconds, "stacks/s"),
        Figure("failures", len(failures), "failures", 0),
    ]


def main() -> None:
    """Judge the stacks from one number to another, and print what came of it."""
    from bench.trees.checking import check_seed

    found = Judged({}, 0, [])
    findings = 0
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        checked = check_seed(seed)
        found.digests[str(seed)] = checked.digest
        findings += checked.findings
        found.failures.extend((seed, failure) for failure in checked.failures)
    print(json.dumps(found._replace(findings=findings)._asdict()))


if __name__ == "__main__":
    main()
