"""Which Python runs a program, a plugin or a policy pack, and in which environment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class StartError(Exception):
    """A child that cannot be started, told in words for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python command, and the virtual environment it belongs to when one was named."""

    command: str
    virtualenv: Path | None = None

    def environ(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a child, with the virtual environment switched on."""
        environ = dict(base)
        if self.virtualenv is None:
            return environ
        environ["VIRTUAL_ENV"] = str(self.virtualenv)
        environ["PATH"] = os.pathsep.join(
            [str(self.virtualenv / "bin"), base.get("PATH", os.defpath)]
        )
        environ.pop("PYTHONHOME", None)
        return environ


def find_interpreter(
    folder: Path,
    options: Mapping[str, object],
    environ: Mapping[str, str],
    default_virtualenv: str = "",
) -> Interpreter:
    """Read the runtime options as the official host does; `virtualenv` is relative to folder."""
    toolchain = options.get("toolchain") or "pip"
    if toolchain != "pip":
        raise StartError(
            f"{folder}: the stand-in Python host knows `toolchain: pip` only, not {toolchain!r}"
        )
    name = options.get("virtualenv") or default_virtualenv
    if not name:
        return ambient_interpreter(environ)
    virtualenv = Path(os.path.normpath(folder / str(name)))
    command = virtualenv / "bin" / "python"
    if not os.access(command, os.X_OK):
        raise StartError(
            f"{folder} runs in the virtual environment {str(name)!r}, but there is no {command}. "
            "Make it (in a clone of this repository: `make setup`)."
        )
    return Interpreter(str(command), virtualenv)


def ambient_interpreter(environ: Mapping[str, str]) -> Interpreter:
    """Return the Python of the shell, for a project that names no virtual environment."""
    wanted = environ.get("PULUMI_PYTHON_CMD")
    path = environ.get("PATH", os.defpath)
    for name in [wanted] if wanted else ["python3", "python"]:
        command = shutil.which(name, path=path)
        if command:
            return Interpreter(command)
    raise StartError(f"no {wanted or 'python3'} on PATH, and the project names no `virtualenv`")
