"""The harness' worker in gpusize's own environment, with one adapter more.

    GPUSIZE_HARNESS=DIR python worker.py ADAPTER CASES OUT

Nothing of the harness is changed: its package of adapters is told one more folder to look in.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HARNESS = "GPUSIZE_HARNESS"


def main(arguments: list[str]) -> None:
    harness = Path(os.environ[HARNESS]).resolve()
    sys.path[:] = [str(harness), str(HERE.parents[1]), *(p for p in sys.path if p != str(HERE))]
    spec = importlib.util.spec_from_file_location("harness_worker", harness / "worker.py")
    assert spec is not None
    assert spec.loader is not None
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    adapters = importlib.import_module("adapters")
    adapters.__path__.append(str(HERE / "adapters"))
    worker.main(*arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
