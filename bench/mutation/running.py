"""Runs tests on changed copies of the repository; the working tree is never touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from bench.mutation.groups import Tests
from bench.mutation.mutants import Mutant, mutated
from bench.mutation.warm import BROKEN, SAID, TIMED_OUT

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("catalog", "plugin", "policies")
LISTED = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
PASSED, FAILED, INTERRUPTED, MISUSED = 0, 1, 2, 4
"""Exit codes of pytest; the last two where a test, or what they share, cannot be imported."""
NOTICED = frozenset({FAILED, INTERRUPTED, MISUSED, BROKEN, TIMED_OUT})
TIMES_LONGER, SECONDS_MORE = 4, 20
"""A change that makes tests run so much longer than before does not end: it is noticed."""
LATER_NS = 10**10
TOLD = 2000
"""Letters of what tests print that are told where they cannot run."""


class Scratch:
    """A copy of the repository in which modules are changed, one at a time."""

    def __init__(self, folder: Path) -> None:
        """Copy what git knows or would, as it lies there now."""
        self.folder = folder
        listed = subprocess.run(LISTED, cwd=ROOT, capture_output=True, text=True, check=True)
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        self.seconds = 0.0
        paths = os.pathsep.join(str(folder / name) for name in SOURCES)
        self.warm = subprocess.Popen(
            [sys.executable, "-m", "bench.mutation.warm"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def check(self, tests: tuple[str, ...]) -> None:
        """Run all tests of a group unchanged; raises RuntimeError where they fail."""
        begun = time.monotonic()
        if self._run(tests, None, writes=True) != PASSED:
            raise RuntimeError(f"tests fail without a change: {self._said()}")
        self.seconds = time.monotonic() - begun

    def notices(self, mutant: Mutant, source: str, tests: Tests) -> bool:
        """Whether a test fails where a module is changed, or does not end."""
        path = self.folder / mutant.path
        before = path.stat()
        path.write_text(mutated(source, mutant), encoding="utf-8")
        # Compiled modules are told apart by time and size, which both may be as before.
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + LATER_NS))
        try:
            return any(self._notice(each) for each in tests)
        finally:
            path.write_text(source, encoding="utf-8")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def close(self) -> None:
        """End the process that runs the tests."""
        self.warm.communicate()

    def _notice(self, tests: tuple[str, ...]) -> bool:
        code = self._run(tests, TIMES_LONGER * self.seconds + SECONDS_MORE)
        if code != PASSED and code not in NOTICED:
            raise RuntimeError(f"tests did not run ({code}): {self._said()}")
        return code != PASSED

    def _said(self) -> str:
        return (self.folder / SAID).read_text(encoding="utf-8")[-TOLD:]

    def _run(self, tests: tuple[str, ...], seconds: float | None, *, writes: bool = False) -> int:
        shutil.rmtree(self.folder / ".hypothesis", ignore_errors=True)
        assert self.warm.stdin is not None
        assert self.warm.stdout is not None
        asked = {"tests": tests, "seconds": seconds, "writes": writes}
        self.warm.stdin.write(json.dumps(asked) + "\n")
        self.warm.stdin.flush()
        return int(self.warm.stdout.readline())
