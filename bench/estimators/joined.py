"""The harness' runner with gpusize as its one estimator, in the environment that runs this.

GPUSIZE_HARNESS=DIR python -m bench.estimators.joined CASES OUT
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

from bench.estimators.worker import HARNESS

OURS = "gpusize"


def main(arguments: list[str]) -> int:
    sys.path.insert(0, os.environ[HARNESS])
    runner: Any = importlib.import_module("run_peers")
    # An absolute path stands for itself where the runner looks for environments by name.
    runner.PEERS = {OURS: sys.prefix}
    runner.HERE = Path(__file__).resolve().parent
    sys.argv = ["run_peers.py", *arguments]
    code: int = runner.main()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
