"""The declarations of one run: of its components, of the file beside the program, of the lock."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpusize.project import DECLARATIONS_FILE
from gpusize_catalog.problems import GpuSizeError, Problem, printable
from gpusize_catalog.spelling import did_you_mean
from gpusize_policies.baseline import NO_BASELINE, Baseline, read_baseline
from gpusize_policies.declared import Declared, plain, read_component
from gpusize_policies.inputs import Context, File, read_file
from gpusize_policies.message import LONGEST_NAME
from gpusize_policies.reading import DEFERRED, Selection, Value

if TYPE_CHECKING:
    from gpusize.declaring.sidecar import Machines
    from gpusize.lock import Entry
    from gpusize_policies.machines import Seen
    from gpusize_policies.settings import Settings

RENAME = "give each a name of its own"
LONGEST_PATH = 80
"""Characters of a file's path that a message repeats."""
FILED = "file"
"""Key of what stands in the file of declarations: with its name it is told apart."""


class Run(NamedTuple):
    """What a run brings besides its resources."""

    settings: Settings
    today: datetime.date
    folder: Path | None = None
    overlays: tuple[Path, ...] = ()
    """Of the settings and of the stack's configuration."""
    lock: Path | None = None
    region: str = ""
    """Region of the stack's configuration, for resources that name none."""
    source: str = ""
    """Project and stack, where they are known."""
    baseline_to: Path | None = None
    """File that the findings of this run are to be written into, as a baseline."""


class Declarations:
    """What was declared in one run, read when it is asked for."""

    def __init__(self, run: Run, context: Context | None = None) -> None:
        """Read nothing yet; `context` spares the reading of the catalog."""
        self.run = run
        if context is not None:
            self.context = context
        self.components: dict[str, dict[str, Declared]] = {}
        """By name, then by URN: components below different parents may share a name."""
        self._read: dict[str, Declared] = {}

    @cached_property
    def context(self) -> Context:
        """The catalog with what every case shares."""
        from gpusize_catalog.store import load

        baseline = self._baseline[0]
        return Context(
            load(self.run.overlays), self.run.settings, self.run.today, baseline=baseline
        )

    @cached_property
    def _baseline(self) -> tuple[Baseline, tuple[Problem, ...]]:
        written = self.run.baseline_to
        path = written or self.run.settings.baseline
        try:
            return (read_baseline(path, is_open=bool(written)) if path else NO_BASELINE), ()
        except GpuSizeError as error:
            return NO_BASELINE, error.problems

    @cached_property
    def file(self) -> Path | None:
        """The file of declarations that tags refer to, where there is one."""
        named = self.run.settings.workloads
        if named is not None:
            return named
        beside = self.run.folder / DECLARATIONS_FILE if self.run.folder else None
        return beside if beside and beside.is_file() else None

    @cached_property
    def filed(self) -> dict[str, Declared]:
        """The workloads of that file, by name."""
        return self._file[0]

    @cached_property
    def _content(self) -> tuple[File, tuple[Problem, ...]]:
        """What stands in that file, and what is wrong with it."""
        if self.file is None:
            return File({}), ()
        try:
            return read_file(str(self.file), self.context.catalog), ()
        except GpuSizeError as error:
            return File({}), error.problems

    @cached_property
    def _file(self) -> tuple[dict[str, Declared], tuple[Problem, ...]]:
        content, problems = self._content
        found = content.declarations.items()
        return {name: Declared(one.workload, None, key=FILED) for name, one in found}, problems

    @property
    def machines(self) -> Mapping[str, Machines]:
        """Machines of another stack that the file describes."""
        beside = self._content[0].beside
        return beside.machines if beside else {}

    def tie(self, seen: Seen) -> str:
        """Name the workload that the file ties a resource to, '' where it ties it to none."""
        beside = self._content[0].beside if self.file is not None else None
        return beside.workload_of(seen.type, seen.name, seen.urn) if beside else ""

    def tied(self, seen: Seen, part: Selection, *, whole: bool = False) -> Selection:
        """Take the workload of the file where neither the resource nor its template names one.

        What a template says is known once the `whole` stack is.
        """
        if part.workload.text or (part.workload == DEFERRED and not whole):
            return part
        name = self.tie(seen)
        return part._replace(workload=Value(name)) if name else part

    @property
    def locked(self) -> dict[str, Entry]:
        """The decisions that the lock keeps, by workload."""
        return self._lock[0]

    @cached_property
    def _lock(self) -> tuple[dict[str, Entry], tuple[Problem, ...]]:
        from gpusize.lock import read_lock

        try:
            return (read_lock(self.run.lock) if self.run.lock else {}), ()
        except GpuSizeError as error:
            return {}, error.problems

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the files beside the program and the catalog's overlays."""
        try:
            _ = self.context  # without a catalog the declarations cannot be read
        except GpuSizeError as error:
            return (*error.problems, *self._lock[1])
        beside = (*self._file[1], *self._lock[1], *self._baseline[1])
        return (*beside, *self._unknown_models())

    def _unknown_models(self) -> Iterator[Problem]:
        """Say which models of the file nobody knows: what refers to them cannot be judged."""
        from gpusize.architecture import architecture_of

        for name, declared in self.filed.items():
            assert declared.workload is not None
            model, folder = declared.workload.model, self.folder_of(declared)
            try:
                architecture_of(model, self.context.catalog, folder)
            except GpuSizeError as error:
                where = f"workloads.{name}.model"
                for one in error.problems:
                    yield Problem(where, one.message, one.fix, str(self.file))

    def folder_of(self, declared: Declared) -> Path | None:
        """Return what paths in a declaration are relative to."""
        return self.file.parent if self.file and declared.key == FILED else self.run.folder

    def add(self, seen: Seen) -> Declared:
        """Read a component, and remember it by its name and its URN."""
        declared = self._declared(seen)
        self.components.setdefault(seen.name, {})[seen.urn] = declared
        return declared

    def has(self, seen: Seen) -> bool:
        """Tell whether a component was read."""
        return seen.urn in self.components.get(seen.name, ())

    def _declared(self, seen: Seen) -> Declared:
        """Read a component once for each content."""
        whole = plain(seen.props)
        key = json.dumps(whole, sort_keys=True, default=repr)
        if key not in self._read:
            self._read[key] = read_component(whole, self.context.catalog)
        return self._read[key]._replace(key=key)

    def twins_of(self, name: str) -> Problem | None:
        """Say that a name stands for several components, where it does."""
        if len(self.components.get(name, ())) < 2:
            return None
        told = f"several GpuWorkloads of this stack are called {printable(name, LONGEST_NAME)}"
        return Problem("", f"{told}, so a tag or a lock entry of that name is of no one", RENAME)

    def find(self, name: str, parent: str = "") -> Declared | None:
        """Return what a tag names: by the parent, else the file, else the one such component.

        The file is known before any component is, so what it says does not depend on their order.
        Where several components have the name it is none of them.
        """
        components = self.components.get(name, {})
        if parent in components and len(components) == 1:
            return components[parent]
        if name in self.filed:
            return self.filed[name]
        twins = self.twins_of(name)
        if twins is not None:
            return Declared(None, None, twins)
        return next(iter(components.values()), None)

    def missing(self, name: str) -> Problem:
        """Say where a declaration was looked for, and which name may be meant."""
        meant = did_you_mean(name, {**self.components, **self.filed}, most=1)
        fix = meant or f"declare it as a GpuWorkload or in {DECLARATIONS_FILE}"
        if self.file is not None:
            base = self.run.folder or self.file.parent
            file = printable(os.path.relpath(self.file, base), LONGEST_PATH)
            told = f"no GpuWorkload of this stack and no entry of {file} has that name"
            return Problem("", told, fix)
        where = "beside the program" if self.run.folder else "(GPUSIZE_PROGRAM names its folder)"
        told = f"no GpuWorkload of this stack has that name, and no {DECLARATIONS_FILE} is {where}"
        return Problem("", told, fix)

    def expected(self, name: str, declared: Declared) -> Mapping[str, object]:
        """What was decided for a workload: by its component, else as the lock keeps it."""
        if declared.decided is not None:
            return declared.decided.pins
        entry = self.locked.get(name)
        workload = declared.workload
        return entry.pins if entry and workload and entry.holds_for(workload) else {}
