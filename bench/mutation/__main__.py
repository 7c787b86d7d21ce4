"""Counts changes of the memory model that tests notice: `python -m bench.mutation`."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from queue import Queue

from bench.mutation.groups import FOLDER, GROUPS, Group
from bench.mutation.mutants import Mutant, change, is_python, mutants_of, mutated
from bench.mutation.running import ROOT, Scratch
from bench.mutation.summary import LEAST_SHARE, Found, Outcome, to_data, to_text


def main(arguments: list[str]) -> int:
    """Run the groups asked for; exits 1 when one of them missed the least share."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutation", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--sample", type=int, default=80, help="mutants of a group, 0 for all")
    parser.add_argument("--seed", type=int, default=1, help="which sample (default 1)")
    parser.add_argument("--jobs", type=int, default=1, help="how many at once (default 1)")
    parser.add_argument("--module", default="", help="only modules whose path holds this word")
    parser.add_argument("--json", action="store_true", help="print data")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.groups) - set(GROUPS):
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    if find_spec("cosmic_ray") is None:
        parser.error("cosmic-ray is not installed: pip install -e '.[mutation]'")
    with tempfile.TemporaryDirectory() as folder:
        copies: Queue[Scratch] = Queue()
        for job in range(max(1, asked.jobs)):
            copies.put(Scratch(Path(folder) / str(job)))
        names = asked.groups or list(GROUPS)
        try:
            found = {name: _run(GROUPS[name], asked, copies) for name in names}
        finally:
            for scratch in copies.queue:
                scratch.close()
    if asked.json:
        groups = {name: to_data(each) for name, each in found.items()}
        print(json.dumps({"seed": asked.seed, "sample": asked.sample, "groups": groups}, indent=2))
    else:
        print("\n".join(to_text(name, each) for name, each in found.items()), end="")
    return int(any(each.share < LEAST_SHARE for each in found.values()))


def _run(group: Group, asked: argparse.Namespace, copies: Queue[Scratch]) -> Found:
    """A sample of a group's mutants, each against its module's tests."""
    tests, sources = {}, {}
    mutants: list[Mutant] = []
    left_out: Counter[str] = Counter()
    for module in group.near:
        path = f"{FOLDER}/{module}.py"
        if asked.module not in path:
            continue
        tests[path], sources[path] = group.tests(module), (ROOT / path).read_text("utf-8")
        for mutant, why in mutants_of(path, sources[path]):
            if why:
                left_out[why] += 1
            else:
                mutants.append(mutant)
    for scratch in list(copies.queue):
        scratch.check(tuple(dict.fromkeys(chain(*chain(*tests.values())))))
    random.Random(asked.seed).shuffle(mutants)
    valid = (one for one in mutants if is_python(mutated(sources[one.path], one)))
    sample = tuple(islice(valid, asked.sample or None))

    def outcome(mutant: Mutant) -> Outcome:
        source = sources[mutant.path]
        scratch = copies.get()
        try:
            killed = scratch.notices(mutant, source, tests[mutant.path])
        finally:
            copies.put(scratch)
        print("." if killed else "S", end="", file=sys.stderr, flush=True)
        return Outcome(mutant, killed, change(source, mutated(source, mutant)))

    with ThreadPoolExecutor(copies.qsize()) as pool:
        outcomes = tuple(pool.map(outcome, sample))
    print(file=sys.stderr)
    return Found(outcomes, len(mutants), dict(left_out))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
