"""A process that has imported what is never changed, and runs tests in a copy of itself.

Reads a line of JSON for each run, writes a line with the exit code of pytest or what `ended` says.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

SAID = Path("said.txt")
"""Where the tests' output goes."""
BROKEN = 9
"""Exit code where pytest itself was interrupted by an exception."""
TIMED_OUT = 99
PAUSE = 0.01
"""Seconds between two looks at the tests that run."""
OPTIONS = ("-q", "-x", "-p", "no:cacheprovider", "--assert=plain", "--hypothesis-seed=0")
"""Assertions stay plain: nobody reads what they say, and hypothesis is imported already."""
USUAL: tuple[dict[str, Any], ...] = (
    {"kind": "serving", "contextLength": 8},
    {"kind": "fine-tuning", "method": "full", "sequenceLength": 8},
    {"kind": "serving", "modality": "image", "width": 8, "height": 8},
    {"kind": "serving", "modality": "video", "width": 8, "height": 8, "frames": 8},
    {"kind": "serving", "modality": "audio", "seconds": 8},
    {"kind": "serving", "modality": "embedding", "contextLength": 8},
    {"kind": "fine-tuning", "modality": "image", "method": "full", "width": 8, "height": 8},
)
"""A declaration of every kind: its class is built once, for all runs."""


def warm_up() -> None:
    """Import everything but the memory model."""
    import hypothesis.strategies
    import pytest  # noqa: F401 (for the copies)

    from gpusize.workload import parse_workload
    from gpusize_catalog.store import load

    assert hypothesis.strategies
    load()
    for fields in USUAL:
        parse_workload({"model": "somebody/something", "region": "us-east-1", **fields})
    early = [name for name in sys.modules if name.startswith("gpusize.memory")]
    assert not early, f"imported too early to be changed: {early}"


def run(tests: list[str], seconds: float | None, *, writes: bool) -> int:
    """Run tests in a copy of this process, for so long at most."""
    child = os.fork()
    if not child:
        _tests(tests, writes)
    begun = time.monotonic()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if seconds is not None and time.monotonic() - begun > seconds:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return TIMED_OUT
        time.sleep(PAUSE)


def _tests(tests: list[str], writes: bool) -> None:
    """Never returns: the copy ends with its tests."""
    code = BROKEN
    try:
        said = os.open(SAID, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, sys.stdout.fileno())
        os.dup2(said, sys.stderr.fileno())
        sys.dont_write_bytecode = not writes
        import pytest

        code = int(pytest.main([*OPTIONS, *tests]))
        sys.stdout.flush()
    finally:
        os._exit(code)


def main() -> int:
    """Run tests as they are asked for, until nothing more is."""
    warm_up()
    for line in sys.stdin:
        print(run(**json.loads(line)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
