"""Where the Pulumi project lies that a shell works for, and what our files beside it are called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

DECLARATIONS_FILE = "gpusize.yaml"
"""What runs on the resources that a tag ties to it."""
LOCK_FILE = "gpusize.lock"
"""Decisions that stay."""
SETTINGS_FILE = "gpusize-policy.yaml"
"""How is decided and judged."""
PROJECT_FILES = ("Pulumi.yaml", "Pulumi.yml")
_NAME = re.compile(r"""^["']?name["']?\s*:\s*["']?([^\s"'#,]+)""", re.MULTILINE)


def project_folder(start: Path) -> Path:
    """Return the nearest folder at or above `start` that holds a project, else `start`."""
    return next((folder for folder, _ in _projects(start)), start)


def find_project(name: str, starts: Iterable[Path]) -> Path | None:
    """Return the folder of the project of that name at or above one of the starts.

    Whoever starts a policy pack tells it the name of the project and not where it lies, so the
    starts are guesses, and the name is what proves one.
    """
    for start in starts:
        for folder, file in _projects(start):
            if _name_of(file) == name:
                return folder
    return None


def _projects(start: Path) -> Iterator[tuple[Path, Path]]:
    for folder in (start, *start.parents):
        for file in PROJECT_FILES:
            if (folder / file).is_file():
                yield folder, folder / file


def _name_of(file: Path) -> str:
    try:
        found = _NAME.search(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""
    return found.group(1) if found else ""
