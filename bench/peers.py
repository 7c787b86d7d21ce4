"""Installs each peer in an environment of its own below `.bench/`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".bench"
PEERS = {"checkov": "checkov>=3.2,<4", "hf-mem": "hf-mem>=0.5,<1"}


def install(peer: str) -> Path | None:
    """Return the peer's command, installed when missing; None when it cannot be had."""
    command = HOME / peer / "bin" / peer
    if command.exists():
        return command
    python = HOME / peer / "bin" / "python"
    steps = (
        [sys.executable, "-m", "venv", str(HOME / peer)],
        [str(python), "-m", "pip", "install", "--quiet", PEERS[peer]],
    )
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode:
            print(f"{peer}: not installed: {done.stderr.strip().splitlines()[-1:]}")
            return None
    return command
