"""Judges the resources of one run of a program: what the policy pack does, without Pulumi.

A `GpuWorkload` brings its declaration and what was decided. A plain AWS resource points at a
declaration by its tag; it is judged at once where both are known, else at the end of the run, when
every resource of the stack is. Equal questions are answered once.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpusize.project import DECLARATIONS_FILE
from gpusize.tokens import COMPONENT
from gpusize_catalog.problems import GpuSizeError, Problem, printable
from gpusize_catalog.spelling import did_you_mean
from gpusize_policies.admitting import is_choice, opened, represented, surveyed
from gpusize_policies.baseline import NO_BASELINE, Baseline, read_baseline
from gpusize_policies.case import Case, Decided
from gpusize_policies.declared import Declared, plain, read_component
from gpusize_policies.deployed import Accelerators, Machine, machine_of, named_types
from gpusize_policies.finding import Finding, Subject
from gpusize_policies.inputs import Context, declarations
from gpusize_policies.judge import asked, evaluate, told_once
from gpusize_policies.machines import Seen, is_deferred, is_open, joined, pinned, templates
from gpusize_policies.message import ANYONE, LONGEST_NAME, renamed
from gpusize_policies.networks import joining
from gpusize_policies.reading import (
    ABSENT,
    DEFERRED,
    EXTRACTORS,
    KEEPING,
    PARTED,
    UNKNOWN,
    Role,
    Selection,
    Value,
    is_region,
    selections,
)
from gpusize_policies.reading.families import expanded, is_several, names_family
from gpusize_policies.reading.selection import BY_ATTRIBUTES
from gpusize_policies.reading.values import first
from gpusize_policies.reading.waiver_tag import waiver_tag
from gpusize_policies.tasks import Tasks, tasks_of, with_task
from gpusize_policies.waiving import Waiving
from gpusize_policies.whole import Share, share_in_run, whole_of

if TYPE_CHECKING:
    from gpusize.lock import Entry
    from gpusize.resolving.listed import Survey
    from gpusize_catalog.store import Catalog
    from gpusize_policies.inferred import Work
    from gpusize_policies.launched.inferring import Inferred
    from gpusize_policies.settings import Settings

KINDS = frozenset({COMPONENT, *EXTRACTORS, *PARTED})
"""Types of resources that are judged."""

RENAME = "give each a name of its own"
LONGEST_PATH = 80
"""Characters of a file's path that a message repeats."""
FILED = "file"
"""Key of what stands in the file of declarations: with its name it is told apart."""
OF_RESERVATIONS = frozenset(
    {
        "cannot-evaluate",
        "instance-not-offered-in-region",
        "missing-required-tags",
        "odcr-paid-while-idle",
        "region-not-allowed",
        "retired-instance",
        "type-not-allowed",
        "unknown-instance-type",
    }
)
"""Rules that speak on reserved capacity: what runs there is judged where it runs."""


OF_CAPACITY = OF_RESERVATIONS - {"odcr-paid-while-idle"}
"""The same of hosts and capacity blocks, which have terms of their own."""
OF_ATTRIBUTES = frozenset({"attribute-selection-too-loose", "cannot-evaluate"})
"""Rules that speak where no type has the attributes that are asked."""


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


class Answer(NamedTuple):
    """What the rules said on a case, which of them were asked, and what it takes of budgets."""

    findings: tuple[Finding, ...]
    codes: frozenset[str]
    share: Share | None


class Session:
    """Remembers the declarations of one run and judges its resources."""

    def __init__(self, run: Run) -> None:
        """Read nothing yet: a stack without GPUs costs nothing."""
        self.run = run
        self._components: dict[str, dict[str, Declared]] = {}
        """By name, then by URN: components below different parents may share a name."""
        self._told: dict[str, tuple[Finding, ...]] = {}
        """What was said on a resource before the whole stack was known, by URN."""
        self._read: dict[str, Declared] = {}
        self._answers: dict[object, Answer] = {}
        self._works: dict[object, tuple[Work, ...]] = {}
        """What machines do by what they start, and the region."""
        self._templates: dict[str, tuple[Seen, ...]] = {}
        """What machines are launched from, by URN; known at the end of the run."""
        self._surveys: dict[object, Survey | None] = {}
        self._inferred: set[str] = set()
        """Machines whose own texts say what runs there, or may, by URN."""
        self._shares: dict[tuple[str, str], Share] = {}
        """What each part of a resource takes of the run's budgets, by URN and place."""
        self._once: dict[str, str] = {}
        """Resource that a rule spoke on whose finding holds for the whole run, by code."""

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
    def waiving(self) -> Waiving:
        """The waivers of this run, and what becomes of them."""
        return Waiving(self.context)

    @cached_property
    def accelerators(self) -> Accelerators:
        """Which texts are types with accelerators."""
        return Accelerators(self.run.settings, lambda: self.context.catalog)

    def about_settings(self) -> tuple[Finding, ...]:
        """Say what is wrong with the waivers of the settings."""
        return self.waiving.of_settings() if self.run.settings.waivers else ()

    @cached_property
    def _unpriced(self) -> Catalog:
        """The catalog for what is not bought from EC2: its prices are not those of others."""
        return self.context.catalog.without_prices()

    @cached_property
    def file(self) -> Path | None:
        """The file of declarations that tags refer to, where there is one."""
        named = self.run.settings.workloads
        if named is not None:
            return named
        beside = self.run.folder / DECLARATIONS_FILE if self.run.folder else None
        return beside if beside and beside.is_file() else None

    @cached_property
    def _file(self) -> tuple[dict[str, Declared], tuple[Problem, ...]]:
        if self.file is None:
            return {}, ()
        try:
            found = declarations(str(self.file), self.context.catalog)
        except GpuSizeError as error:
            return {}, error.problems
        return {name: Declared(one.workload, None, key=FILED) for name, one in found.items()}, ()

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

        for name, declared in self._file[0].items():
            assert declared.workload is not None
            model, folder = declared.workload.model, self._folder_of(declared)
            try:
                architecture_of(model, self.context.catalog, folder)
            except GpuSizeError as error:
                where = f"workloads.{name}.model"
                for one in error.problems:
                    yield Problem(where, one.message, one.fix, str(self.file))

    def judge(self, seen: Seen) -> tuple[Finding, ...]:
        """Judge one resource by itself; what needs the stack is judged in `finish`."""
        if seen.type == COMPONENT:
            return self._component(seen)
        found = self._alone(seen)
        self._told[seen.urn] = found
        return found

    def finish(self, resources: Sequence[Seen]) -> Iterator[tuple[str, Finding]]:
        """Judge the machines of the whole stack, and say what was not said before."""
        stack = {seen.urn: seen for seen in resources}
        for seen in resources:
            if seen.type == COMPONENT and seen.urn not in self._named(seen.name):
                self._named(seen.name)[seen.urn] = self._declared(seen)
        behind = self._templates = {seen.urn: templates(seen, stack) for seen in resources}
        launched = {one.urn for ones in behind.values() for one in ones}
        joins = joining(stack)
        found = [
            (seen, joined(seen, part, stack, joins))
            for seen in resources
            if seen.urn not in launched
            for part in selections(seen.type, seen.props)
        ]
        tasks = tasks_of((part for _, part in found), self._components)
        for seen, part in found:
            said = {
                (one.code, one.message, one.waived_by)
                for urn in (seen.urn, *(one.urn for one in behind[seen.urn]))
                for one in self._told.get(urn, ())
            }
            for finding in self._whole(seen, part, tasks, behind[seen.urn]):
                if (finding.code, finding.message, finding.waived_by) not in said:
                    yield seen.urn, finding
        yield from (("", finding) for finding in self._together())
        if self._answers or self.waiving.known.is_used:
            for finding in (*self.waiving.unused(), *self.waiving.outdated(self._sources)):
                yield finding.subject.resource, finding

    @property
    def _sources(self) -> tuple[str, ...]:
        return (self.run.source,) if self.run.source else ()

    def baseline(self) -> tuple[str, int]:
        """Return the text of the baseline that this run makes, and the number of its findings."""
        return self.waiving.known.text(self._sources, self.run.source)

    def _together(self) -> tuple[Finding, ...]:
        """Judge all that the run takes: what a resource takes is known when it was judged."""
        if not self._shares:
            return ()
        case = Case(
            "",
            None,
            catalog=self.context.catalog,
            today=self.run.today,
            settings=self.run.settings,
            whole=whole_of(self._shares.values()),
        )
        return self.waiving.judge(case)

    def _component(self, seen: Seen) -> tuple[Finding, ...]:
        declared = self._declared(seen)
        twins = self._named(seen.name)
        twins[seen.urn] = declared
        if len(twins) > 1 and declared.missing is None:
            declared = declared._replace(missing=_twins(seen.name))
        decided = declared.decided
        pins = tuple(decided.pins.items()) if decided else ()
        return self._ask(seen, seen.name, declared, pins)

    def _named(self, name: str) -> dict[str, Declared]:
        """Return the components of a name, to be read and added to."""
        return self._components.setdefault(name, {})

    def _folder_of(self, declared: Declared) -> Path | None:
        """Return what paths in a declaration are relative to."""
        return self.file.parent if self.file and declared.key == FILED else self.run.folder

    def _declared(self, seen: Seen) -> Declared:
        """Read a component once for each content."""
        whole = plain(seen.props)
        key = json.dumps(whole, sort_keys=True, default=repr)
        if key not in self._read:
            self._read[key] = read_component(whole, self.context.catalog)
        return self._read[key]._replace(key=key)

    def _alone(self, seen: Seen) -> tuple[Finding, ...]:
        """Judge a resource by what it says itself, where that is enough."""
        parts = selections(seen.type, seen.props)
        return tuple(finding for part in parts for finding in self._part(seen, part))

    def _part(self, seen: Seen, selection: Selection) -> tuple[Finding, ...]:
        if is_deferred(selection) or _waits(selection):
            return ()
        if not selection.workload.text:
            # Who launches a template may say more, its name for one: it waits for the whole stack.
            is_own = selection.workload.known and selection.role is Role.MACHINE
            return self._untagged(seen, selection, whole=False) if is_own else ()
        declared = self._find(selection.workload.text)
        if declared is None or not selection.instance_type.text:
            return ()
        if is_open(selection, declared) or self._is_child(seen, selection):
            return ()
        return self._machine(seen, selection, declared, whole=False)

    def _whole(
        self, seen: Seen, selection: Selection, tasks: Tasks, chain: Sequence[Seen]
    ) -> tuple[Finding, ...]:
        """Judge a resource by all that the stack says of it."""
        workload = selection.workload
        if workload == DEFERRED or (workload.known and not workload.text):
            found = self._untagged(seen, selection, whole=True)
            return (*found, *self._bare(seen, selection, chain))
        if self._is_child(seen, selection):
            return self._bare(seen, selection, chain, workload.text)
        if not workload.known:
            return self._tell_unknown(seen, selection)
        declared = self._find(workload.text)
        if declared is None:
            declared = Declared(None, None, self._missing(workload.text))
            return self._ask(seen, workload.text, declared, (), part=selection)
        if selection.role is Role.TASK and workload.text in tasks.placed:
            return ()  # judged with the machines that it runs on
        selection = with_task(selection, tasks)
        machine = self._deployed(seen, selection, chain, workload.text)
        return self._machine(seen, selection, declared, whole=True, machine=machine)

    def _bare(
        self, seen: Seen, selection: Selection, chain: Sequence[Seen], owner: str = ""
    ) -> tuple[Finding, ...]:
        """Judge a machine by itself: nobody owns it, or its owner was judged for all but its tags.

        Whose type is not known may be anything: it is told where each GPU must be declared.
        """
        machine = self._deployed(seen, selection, chain, owner)
        selection = selection._replace(launches=ABSENT)
        if machine is not None:
            machine = machine._replace(is_inferred=seen.urn in self._inferred)
            return self._ask(seen, owner, Declared(None, None), (), part=selection, machine=machine)
        is_said = selection.instance_type.known or selection.admitted.says
        if owner or is_said or not self.accelerators.asks_all:
            return ()
        unknown = selection.doubts("instance_type")
        return self._ask(seen, "", Declared(None, None), (), unknown, part=selection)

    def _deployed(
        self, seen: Seen, selection: Selection, chain: Sequence[Seen], owner: str
    ) -> Machine | None:
        """Read what a resource launches, where an accelerator is among it."""
        asked_for = selection.requirements.value if selection.requirements.says else ()
        named = any(self.accelerators.knows(one) for one in named_types(selection))
        if not named and not any(one.demands for one in asked_for):
            return None
        region, _ = self._region_of(seen, selection)
        whole = expanded(opened(selection, self.context, region), self.context.catalog)
        found = machine_of(seen, whole, chain, region, self.context.catalog)
        if found is None:
            return None
        # Of tags no more is kept than is asked for: machines that differ in others are judged once.
        team = self.run.settings.team
        tags = found.tags.among((*team.required_tags, team.team_tag))
        name = "" if owner else found.name
        return found._replace(workload=owner, name=name, tags=tags)

    def _untagged(self, seen: Seen, selection: Selection, *, whole: bool) -> tuple[Finding, ...]:
        """Judge what an undeclared machine starts, where its texts say it."""
        launches = selection.launches
        if not launches.says and launches != UNKNOWN:
            return ()
        region, _ = self._region_of(seen, selection)
        selection = opened(selection, self.context, region)._replace(workload=Value(seen.name))
        named = (selection.instance_type.text, *(selection.types.value or ()))
        found_types = map(self.context.catalog.find_instance, named)
        types = [one for one in found_types if one is not None]
        if not types:
            return ()
        if not launches.known:
            self._inferred.add(seen.urn)
            unsaid = selection.doubts("launches")
            nothing = Declared(None, None)
            return self._ask(seen, "", nothing, (), unsaid, selection) if whole else ()
        from gpusize_policies.inferred import works

        question = (launches.value, region, named)
        if question not in self._works:
            gpus = max(one.gpus or 1 for one in types)
            self._works[question] = works(launches.value, self.context.catalog, region, gpus)
        found: list[Finding] = []
        if self._works[question]:
            self._inferred.add(seen.urn)
        for work in self._works[question]:
            if not is_open(selection, work.declared):
                found += self._machine(seen, selection, work.declared, whole=whole, work=work)
        return tuple(found)

    def _machine(
        self,
        seen: Seen,
        selection: Selection,
        declared: Declared,
        *,
        whole: bool,
        work: Work | None = None,
        machine: Machine | None = None,
    ) -> tuple[Finding, ...]:
        """Judge what a resource decides; rules that need the stack are asked with all of it."""
        if selection.role is Role.BLOCK and not selection.instance_type.text:
            return ()
        name = selection.workload.text
        region, doubts = self._region_of(seen, selection)
        selection = opened(selection, self.context, region or _region(declared))
        by_family = names_family(selection)
        selection = expanded(selection, self.context.catalog)
        by_family = by_family and not self._has_no_gpu(selection)
        unknown = _unknown(selection)
        if unknown:
            return self._ask(seen, name, Declared(None, None), (), unknown, selection)
        if selection.is_helper and self._has_no_gpu(selection):
            return ()
        pins = pinned(selection, declared, (region,) if region else ())
        found: Survey | None = None
        if (is_choice(selection) or by_family) and declared.workload is not None:
            found = self._survey(name, declared, pins, selection.types.value)
            selection = represented(selection, found)
            pins = pinned(selection, declared, (region,) if region else ())
        return self._ask(
            seen,
            name,
            declared,
            tuple(pins.items()),
            doubts,
            part=selection,
            whole=whole,
            only=_spoken(selection),
            region=region,
            survey=found,
            work=work,
            machine=machine,
        )

    def _region_of(self, seen: Seen, selection: Selection) -> tuple[str, tuple[str, ...]]:
        """Where a resource is made: as it says, its provider, the stack; and whether that is known.

        Where it is not, the declared region stands in for it.
        """
        for place in (selection.region, seen.provider_region):
            if place.text and is_region(place.text):
                return place.text, ()
            if not place.known:
                return "", ("region",)
        return (self.run.region if is_region(self.run.region) else ""), ()

    def _survey(
        self, name: str, declared: Declared, pins: Mapping[str, object], names: tuple[str, ...]
    ) -> Survey | None:
        """Judge all types that one may be picked from, once for equal work."""
        assert declared.workload is not None
        question = (name, declared.key, tuple(pins.items()), names)
        if question not in self._surveys:
            workload, folder = declared.workload.pinned(pins), self._folder_of(declared)
            self._surveys[question] = surveyed(workload, names, self.context, folder, name)
        return self._surveys[question]

    def _has_no_gpu(self, selection: Selection) -> bool:
        return self.context.catalog.find_instance(selection.instance_type.text) is None

    def _missing(self, name: str) -> Problem:
        """Say where a declaration was looked for, and which name may be meant."""
        meant = did_you_mean(name, {**self._components, **self._file[0]}, most=1)
        fix = meant or f"declare it as a GpuWorkload or in {DECLARATIONS_FILE}"
        if self.file is not None:
            base = self.run.folder or self.file.parent
            file = printable(os.path.relpath(self.file, base), LONGEST_PATH)
            told = f"no GpuWorkload of this stack and no entry of {file} has that name"
            return Problem("", told, fix)
        where = "beside the program" if self.run.folder else "(GPUSIZE_PROGRAM names its folder)"
        told = f"no GpuWorkload of this stack has that name, and no {DECLARATIONS_FILE} is {where}"
        return Problem("", told, fix)

    def _find(self, name: str) -> Declared | None:
        """Return what a tag names; where several components have the name, none of them."""
        components = tuple(self._components.get(name, {}).values())
        if len(components) > 1:
            return Declared(None, None, _twins(name))
        return components[0] if components else self._file[0].get(name)

    def _is_child(self, seen: Seen, selection: Selection) -> bool:
        """Tell what a component made just as it decided: it was judged with the component."""
        parent = self._components.get(selection.workload.text, {}).get(seen.parent)
        if parent is None:
            return False
        decided = parent.decided.pins.get("instance_type") if parent.decided else None
        return selection.instance_type.text in ("", decided)

    def _tell_unknown(self, seen: Seen, selection: Selection) -> tuple[Finding, ...]:
        """Unknown tags are told where there is a GPU to speak of, by the type or by containers."""
        asked = selection.requirements.value or ()
        selection = expanded(selection, self.context.catalog)
        demands = selection.gpus.value or any(one.demands for one in asked)
        if not demands and self._has_no_gpu(selection):
            return ()
        return self._ask(seen, "", Declared(None, None), (), (selection.unknown[0],), selection)

    def _waiver_tag(self, seen: Seen) -> Value:
        """Read the tag of a machine, else that of its launch template."""
        if seen.type == COMPONENT:
            return ABSENT
        return first(*(waiver_tag(one.props) for one in (seen, *self._templates.get(seen.urn, ()))))

    def _ask(
        self,
        seen: Seen,
        name: str,
        declared: Declared,
        pins: tuple[tuple[str, object], ...],
        unknown: tuple[str, ...] = (),
        part: Selection | None = None,
        *,
        whole: bool = False,
        only: frozenset[str] | None = None,
        region: str = "",
        survey: Survey | None = None,
        work: Work | None = None,
        machine: Machine | None = None,
    ) -> tuple[Finding, ...]:
        """Evaluate a case, or take the answer that an equal one got; `only` names what counts.

        `part` is what a machine asks for; rules see it where it is the `whole` of it.
        """
        place, seller = (part.place, part.seller) if part else ("", "")
        launched = _launched(part.launches) if part else ()
        # Machines that start the same are judged once, whatever they are called.
        called = name if work is None else ANYONE
        selection = _shown(part, called) if part and whole else None
        subject = Subject(workload=name, resource=seen.urn, path=place)
        question = (
            *(called, declared.key, pins, declared.missing, unknown),
            *(selection, place, seller, launched, machine),
        )
        if question not in self._answers:
            decided = declared.decided
            if seen.type != COMPONENT:
                decided = Decided(dict(pins)) if pins else None
            case = Case(
                called,
                declared.workload,
                catalog=self._unpriced if seller else self.context.catalog,
                today=self.run.today,
                settings=self.run.settings,
                subject=subject,
                decided=decided,
                lock=None if declared.missing or not name else self._lock[0].get(name),
                unknown=unknown,
                missing=declared.missing,
                selection=selection,
                base_dir=self._folder_of(declared),
                deployed_region=region,
                seller=seller,
                launched=launched,
                provenance=work.provenance if work else None,
                machine=machine,
                expected=self._expected(name, declared),
            )
            if survey is not None:
                case.survey = survey
            settings = self.run.settings
            taken = share_in_run(case, is_component=seen.type == COMPONENT)
            self._answers[question] = Answer(evaluate(case, settings), asked(case, settings), taken)
        said, codes, taken = self._answers[question]
        if taken is not None:
            self._shares[seen.urn, place] = taken
        if work is not None:
            only = work.only if only is None else only & work.only
        found = tuple(
            one._replace(subject=subject, message=renamed(one.message, called, name))
            for one in said
            if only is None or one.name in only
        )
        codes = codes if only is None else frozenset()
        tag = self._waiver_tag(seen)
        found = self.waiving.over(subject, declared.workload, found, codes, tag)
        return told_once(found, seen.urn, self._once)

    def _expected(self, name: str, declared: Declared) -> Mapping[str, object]:
        """What was decided for a workload: by its component, else as the lock keeps it."""
        if declared.decided is not None:
            return declared.decided.pins
        entry = self._lock[0].get(name)
        workload = declared.workload
        return entry.pins if entry and workload and entry.holds_for(workload) else {}


def _launched(launches: Value) -> tuple[Inferred, ...]:
    """Return what the texts of a machine say."""
    if not launches.says:
        return ()
    from gpusize_policies.launched.inferring import infer_all

    return infer_all(launches.value)


def _shown(selection: Selection, name: str) -> Selection:
    """Return what rules see: of texts, which hold secrets, only what was understood of them."""
    shown = selection._replace(launches=ABSENT)
    return shown._replace(workload=Value(ANYONE)) if name == ANYONE else shown


def _twins(name: str) -> Problem:
    """Say that a name stands for several components."""
    told = f"several GpuWorkloads of this stack are called {printable(name, LONGEST_NAME)}"
    return Problem("", f"{told}, so a tag or a lock entry of that name is of no one", RENAME)


def _region(declared: Declared) -> str:
    return declared.workload.region if declared.workload else ""


def _spoken(selection: Selection) -> frozenset[str] | None:
    """Name the rules that speak on a resource; None: all of them."""
    if selection.role in KEEPING:
        return OF_RESERVATIONS if selection.role is Role.RESERVATION else OF_CAPACITY
    return OF_ATTRIBUTES if selection.instance_type == BY_ATTRIBUTES else None


def _waits(selection: Selection) -> bool:
    """Tell whether what runs decides which of the types of a pool are taken, or how many."""
    return selection.role is Role.TASK or (selection.is_pool and is_several(selection))


def _unknown(selection: Selection) -> tuple[str, ...]:
    """Name what a judgement cannot do without."""
    names: list[str] = []
    if not selection.instance_type.text and not selection.admitted.says:
        names += selection.doubts("requirements") or (selection.name_of("instance_type"),)
    if not selection.market.known:
        names.append(selection.name_of("market"))
    if selection.role is Role.RESERVATION:
        names += selection.doubts("reserved", "reserved_until")
    return tuple(names)
