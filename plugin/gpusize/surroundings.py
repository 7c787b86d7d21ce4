"""Where a decision is taken: the program's folder, the day, the catalog, the lock, the thresholds.

They come from `gpusize-policy.yaml` beside the program and from the stack's configuration, which
wins. The component and the policy pack take them from here, so that they decide alike.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gpusize.days import DAY_FIX, NO_DAY, day_of
from gpusize.environments import NOWHERE, Where
from gpusize.project import LOCK_FILE
from gpusize.settings import DEFAULTS, ResolveSettings
from gpusize.settings_file import LONGEST_KEY, Deciding, guess, read_deciding, settings_path
from gpusize.tokens import PACKAGE
from gpusize_catalog.problems import GpuSizeError, Problem, printable

STACK_KEYS = ("today", "catalog", "lock", "settings")
"""Keys of the stack's configuration under `gpusize:`; paths are relative to the program."""


class Surroundings(NamedTuple):
    """What a decision depends on besides the declaration."""

    folder: Path
    today: datetime.date
    overlays: tuple[Path, ...] = ()
    lock: Path | None = None
    settings: ResolveSettings = DEFAULTS


def stack_values(get: Callable[[str], str | None], *whole: Mapping[str, object]) -> dict[str, str]:
    """Return the stack's values under `gpusize:`; `whole` are maps that may have more than we read.

    A misspelt key can be told only when it is seen.
    """
    prefix = f"{PACKAGE}:"
    named = (key.removeprefix(prefix) for one in whole for key in one if key.startswith(prefix))
    keys = dict.fromkeys([*STACK_KEYS, *named])
    return {key: value for key in keys if (value := get(key)) is not None}


def unknown_keys(keys: Iterable[str], project: str) -> Iterator[Problem]:
    """Tell keys of the stack's configuration under `gpusize:` that nothing reads.

    In a project of that very name they are the program's own.
    """
    if project == PACKAGE:
        return
    for key in keys:
        if key not in STACK_KEYS:
            shown = printable(key, LONGEST_KEY)
            yield Problem(f"{PACKAGE}:{shown}", "unknown key", guess(key, STACK_KEYS))


def surroundings(
    folder: Path, config: Mapping[str, str | None], where: Where = NOWHERE
) -> Surroundings:
    """Read the settings file of a program and take in the stack and its configuration.

    Raises `GpuSizeError` with every problem.
    """
    path = settings_path(folder, config.get("settings") or "")
    return surround(folder, (read_deciding(path) if path else Deciding()).at(where), config)


def surround(folder: Path, file: Deciding, config: Mapping[str, str | None]) -> Surroundings:
    """Join what the settings file says with the stack's configuration.

    `catalog` may name several folders, with commas between; they lie over those of the file. Raises
    `GpuSizeError` with every problem of the configuration.
    """
    problems: list[Problem] = []
    today = file.today
    day = config.get("today")
    if day:
        today = day_of(day)
        if today is None:
            problems.append(Problem("gpusize:today", NO_DAY, DAY_FIX))
    names = [name.strip() for name in (config.get("catalog") or "").split(",")]
    overlays = tuple(folder / name for name in names if name)
    problems += (
        Problem("gpusize:catalog", f"there is no folder {overlay}")
        for overlay in overlays
        if not overlay.is_dir()
    )
    if problems:
        raise GpuSizeError(problems)
    lock = config.get("lock")
    return Surroundings(
        folder,
        today or datetime.date.today(),
        (*file.catalog, *overlays),
        folder / lock if lock else file.lock or folder / LOCK_FILE,
        file.resolving,
    )
