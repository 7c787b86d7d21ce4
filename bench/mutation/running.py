"""Runs tests on changed copies of the repository; the working tree is never touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from bench.mutation.mutants import Mutant, mutated

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("catalog", "plugin", "policies")
LISTED = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
PYTEST = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--hypothesis-seed=0")
PASSED, FAILED, INTERRUPTED = 0, 1, 2
"""Exit codes of pytest; it is interrupted where a module cannot be imported any more."""
TIMES_LONGER, SECONDS_MORE = 4, 20
"""A change that makes tests run so much longer than before does not end: it is noticed."""

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

    def check(self, tests: tuple[str, ...]) -> None:
        """Run all tests of a group unchanged; raises RuntimeError where they fail."""
        begun = time.monotonic()
        done = self._run(tests, None, writes=True)
        if done.returncode != PASSED:
            raise RuntimeError(f"tests fail without a change: {done.stdout[-TOLD:]}")
        self.seconds = time.monotonic() - begun

    def notices(self, mutant: Mutant, source: str, tests: tuple[str, ...]) -> bool:
        """Whether a test fails where a module is changed, or does not end."""
        path = self.folder / mutant.path
        before = path.stat()
        path.write_text(mutated(source, mutant), encoding="utf-8")
        # Compiled modules are told apart by time and size, which both may be as before.
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**10))
        try:
            done = self._run(tests, TIMES_LONGER * self.seconds + SECONDS_MORE)
        except subprocess.TimeoutExpired:
            return True
        finally:
            path.write_text(source, encoding="utf-8")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        if done.returncode not in (PASSED, FAILED, INTERRUPTED):
            raise RuntimeError(f"tests did not run: {done.stdout[-TOLD:]}{done.stderr[-TOLD:]}")
        return done.returncode != PASSED

    def _run(
        self, tests: tuple[str, ...], limit: float | None, *, writes: bool = False
    ) -> subprocess.CompletedProcess[str]:
        paths = os.pathsep.join(str(self.folder / name) for name in SOURCES)
        environ = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        if writes:
            del environ["PYTHONDONTWRITEBYTECODE"]
        shutil.rmtree(self.folder / ".hypothesis", ignore_errors=True)
        return subprocess.run(
            [sys.executable, *PYTEST, *tests],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=limit,
        )
