"""What the policy pack works with: the program's folder, its settings, the stack's configuration.

A pack is started in its own folder and told the name of the project, not where it lies. The folder
is looked for where the command was given and where the processes that started the pack work.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gpusize.environments import Where
from gpusize.project import DECLARATIONS_FILE, SETTINGS_FILE, find_project, project_folder
from gpusize.settings_file import settings_path
from gpusize.surroundings import surround, unknown_keys
from gpusize_catalog.problems import GpuSizeError, Problem, printable
from gpusize_policies.declarations import Run
from gpusize_policies.finding import Severity
from gpusize_policies.message import LONGEST_NAME
from gpusize_policies.registry import RULES, suggest
from gpusize_policies.rule import Rule
from gpusize_policies.settings import DEFAULTS, OFF, load
from gpusize_policies.settings_file import ALL

SETTINGS_POLICY = "gpusize-settings"
"""Policy that tells what is wrong with the settings, and carries what concerns the whole pack."""
CUSTOM_POLICY = "custom-rule"
"""Policy that carries rules of the team which came too late for policies of their own."""
FILE_KEY = "file"
"""Its property that names the settings file."""

PROGRAM = "GPUSIZE_PROGRAM"
"""Variable of the environment that names the program's folder, where it is not found."""
WRITE_BASELINE = "GPUSIZE_WRITE_BASELINE"
"""Variable of the environment that names the file which a preview writes its findings into."""
GENERATIONS = 4
"""Processes between the pack and the shell: language host, its proxy, the engine, a wrapper."""


class Stack(NamedTuple):
    """What a pack is told of the stack it judges; all empty for a state file."""

    project: str = ""
    config: Mapping[str, str] = {}
    """Values under `gpusize:` by their key."""
    region: str = ""
    name: str = ""
    """Name of the stack, by which an environment is chosen."""


class Setup(NamedTuple):
    """Settings of one run with whatever is wrong with them."""

    run: Run
    problems: tuple[Problem, ...] = ()

    def at(self, where: Where) -> Setup:
        """The same with what the environment says that a stack belongs to."""
        return self._replace(run=self.run._replace(settings=self.run.settings.at(where)))

    def level_of(self, rule: Rule) -> Severity | None:
        """Level that a rule has by the settings file; None when it is off."""
        return self.run.settings.level_of(rule)

    @property
    def judging(self) -> Run:
        """The run with no rule off: who reports leaves out what is disabled."""
        settings = self.run.settings
        levels = {code: level for code, level in settings.levels.items() if level != OFF}
        for rule in RULES:
            if rule.is_off:
                levels.setdefault(rule.code, rule.severity.value)
        return self.run._replace(settings=settings._replace(levels=levels))


def find_folder(project: str, starts: Iterable[Path]) -> Path | None:
    """Return the folder of the project; of a state file, the first with a file of ours."""
    places = list(starts)
    if project:
        return find_project(project, places)
    folders = (project_folder(start) for start in places)
    ours = (DECLARATIONS_FILE, SETTINGS_FILE)
    return next((one for one in folders if any((one / name).is_file() for name in ours)), None)


def starts(environ: Mapping[str, str]) -> Iterator[Path]:
    """Guess where the program lies: as told, the shell's folder, those of the processes above."""
    for name in (PROGRAM, "PWD"):
        if environ.get(name):
            yield Path(environ[name])
    process = os.getppid()
    for _ in range(GENERATIONS):
        folder = _working_folder(process)
        if folder is None:
            return
        yield folder
        process = _parent(process)


def _working_folder(process: int) -> Path | None:
    """Read it where the system tells it: Linux does, elsewhere the shell's folder must do."""
    try:
        return Path(f"/proc/{process}/cwd").readlink()
    except OSError:
        return None


def _parent(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return int(lines.get("PPid", "0"))


def set_up(stack: Stack, folder: Path | None, file: str = "", baseline: str = "") -> Setup:
    """Read the settings; what is wrong is told, and its default is taken.

    `baseline` names the file that the findings are to be written into.
    """
    problems: list[Problem] = list(unknown_keys(stack.config, stack.project))
    base = folder or Path.cwd()
    settings = DEFAULTS
    path = settings_path(base, file or stack.config.get("settings") or "")
    try:
        if path:
            settings = load(str(path))
    except GpuSizeError as error:
        problems += error.problems
    try:
        around = surround(base, settings.deciding, stack.config)
    except GpuSizeError as error:
        problems += error.problems
        around = surround(base, settings.deciding, {})
    run = Run(
        settings,
        around.today,
        folder,
        around.overlays,
        around.lock,
        stack.region,
        "/".join(filter(None, (stack.project, stack.name))),
        base / baseline if baseline else None,
    )
    return Setup(run, tuple(problems))


def configure(setup: Setup, names: Sequence[str], config: Mapping[str, Mapping[str, Any]]) -> Setup:
    """Take in what `--policy-pack-config` says by policy, levels aside; tell what it misspells."""
    problems = list(setup.problems)
    problems += (_no_policy(name) for name in config if name not in names and name != ALL)
    rules = {rule.name: rule for rule in RULES}
    settings = setup.run.settings
    for name, properties in config.items():
        known = _known(name, rules)
        for key, value in properties.items():
            if key not in known and (name in names or name == ALL):
                problems.append(_no_key(name, key, known))
            elif key == "unknowns":
                settings = settings._replace(unknowns=str(value))
            elif name in rules and key in known:
                settings = settings._replace(parameters={**settings.parameters, key: float(value)})
    return Setup(setup.run._replace(settings=settings), tuple(problems))


def _known(name: str, rules: Mapping[str, Rule]) -> tuple[str, ...]:
    """Name the properties that the configuration of a policy may have."""
    if name == SETTINGS_POLICY:
        return (FILE_KEY,)
    return rules[name].parameters if name in rules else ()


def _no_policy(name: str) -> Problem:
    shown = printable(name, LONGEST_NAME)
    close = suggest(name)
    fix = f"did you mean {close[0]}?" if close else "`gpusize rules` lists the names"
    return Problem(f"--policy-pack-config: {shown}", "no such policy", fix)


def _no_key(name: str, key: str, known: tuple[str, ...]) -> Problem:
    fix = f"it takes {', '.join(known)}" if known else "it takes a level alone"
    return Problem(
        f"--policy-pack-config: {name}.{printable(key, LONGEST_NAME)}", "no such property", fix
    )
