"""The processes a host starts: how they are followed, and how they end with it."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

Process = subprocess.Popen[bytes]

# How often to look whether the engine still lives. It leaves its hosts behind when it panics
# or is killed, and nobody else would end them.
PARENT_CHECK_SECONDS = 0.5


class Children:
    """Every process started here and still running."""

    def __init__(self) -> None:
        """Start with none."""
        self._running: set[Process] = set()
        self._lock = threading.Lock()
        self._closed = False

    def start(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        environ: Mapping[str, str],
        piped: bool = True,
    ) -> Process:
        """Start a process; its output is piped to us or goes where ours goes."""
        stream = subprocess.PIPE if piped else None
        with self._lock:
            if self._closed:
                raise RuntimeError("this host is ending")
            child = subprocess.Popen(
                command,
                cwd=cwd,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )
            self._running.add(child)
        return child

    def running(self) -> list[Process]:
        """Return the processes that were started and not stopped."""
        with self._lock:
            return list(self._running)

    def stop(self, child: Process) -> None:
        """End a process, if it still runs."""
        with self._lock:
            self._running.discard(child)
        child.kill()
        child.wait()

    def stop_all(self) -> None:
        """End every process, and start none from now on."""
        with self._lock:
            self._closed = True
        for child in self.running():
            self.stop(child)


def pump(stream: IO[bytes], emit: Callable[[bytes], None]) -> threading.Thread:
    """Hand on every line of a stream to its end, from a thread of its own."""

    def run() -> None:
        with stream:
            for line in iter(stream.readline, b""):
                emit(line)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def when_orphaned(end: Callable[[], None], interval: float = PARENT_CHECK_SECONDS) -> None:
    """Call `end` once our parent is gone."""
    parent = os.getppid()

    def run() -> None:
        while os.getppid() == parent:
            time.sleep(interval)
        end()

    threading.Thread(target=run, daemon=True).start()
