"""Judges the resources of one run of a program: what the policy pack does, without Pulumi.

A `GpuWorkload` brings its declaration and what was decided. A plain AWS resource points at a
declaration by its tag; it is judged at once where both are known, else at the end of the run, when
every resource of the stack is. Equal questions are answered once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING

from gpusize.tokens import COMPONENT
from gpusize_catalog.problems import Problem
from gpusize_policies.admitting import is_choice, opened, represented, surveyed
from gpusize_policies.asking import Asking, Question, is_doubt
from gpusize_policies.clusters import Clusters
from gpusize_policies.declarations import Declarations, Run
from gpusize_policies.declared import Declared
from gpusize_policies.deployed import Accelerators, Machine, machine_of, named_types
from gpusize_policies.finding import Finding
from gpusize_policies.inputs import Context
from gpusize_policies.lodging import gpus_of, is_stranded, share_of
from gpusize_policies.machines import Seen, is_deferred, is_open, pinned, templates
from gpusize_policies.networks import joining
from gpusize_policies.placing import homeless, is_untagged, placed, unread
from gpusize_policies.reading import (
    ABSENT,
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
from gpusize_policies.remedying import Gathering
from gpusize_policies.tasks import Tasks, tasks_of, with_task

if TYPE_CHECKING:
    from gpusize.resolving.listed import Survey
    from gpusize_catalog.facts import InstanceType
    from gpusize_policies.inferred import Work
    from gpusize_policies.remedies import Change
    from gpusize_policies.rule import Rule

KINDS = frozenset({COMPONENT, *EXTRACTORS, *PARTED})
"""Types of resources that are judged."""

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


class Session:
    """Judges the resources of one run."""

    def __init__(self, run: Run, context: Context | None = None) -> None:
        """Read nothing yet: a stack without GPUs costs nothing."""
        self.run = run
        self.declarations = Declarations(run, context)
        self.asking = Asking(self.declarations)
        self._told: dict[str, tuple[Finding, ...]] = {}
        """What was said on a resource before the whole stack was known, by URN."""
        self._works: dict[object, tuple[Work, ...]] = {}
        """What machines do by what they start, and the region."""
        self._surveys: dict[object, Survey | None] = {}
        self._is_part = False
        """Whether the end of the run knows only a part of the stack."""
        self._inferred: set[str] = set()
        """Machines whose own texts say what runs there, or may, by URN."""
        self._pools: Mapping[str, int] = {}
        """Pools of machines with accelerators of the stack, by type."""
        self._unread: dict[str, tuple[Seen, Selection]] = {}
        """Machines with accelerators that nobody declared, of which a text is not known."""

    @property
    def context(self) -> Context:
        """The catalog with what every case shares."""
        return self.declarations.context

    @cached_property
    def accelerators(self) -> Accelerators:
        """Which texts are types with accelerators."""
        return Accelerators(self.run.settings, lambda: self.context.catalog)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the files beside the program and the catalog's overlays."""
        return self.declarations.problems

    def about_settings(self) -> tuple[Finding, ...]:
        """Say what is wrong with the waivers of the settings."""
        return self.asking.waiving.of_settings() if self.run.settings.waivers else ()

    def judge(self, seen: Seen) -> tuple[Finding, ...]:
        """Judge one resource by itself; what needs the stack is judged in `finish`."""
        found = self._component(seen) if seen.type == COMPONENT else self._alone(seen)
        self._told[seen.urn] = found
        return found

    def remedy(self, seen: Seen, rule: Rule) -> tuple[Change, ...]:
        """Say what a rule changes of a resource, by what that says itself.

        Nothing is remembered: the resource is judged afterwards, as it then is.
        """
        if rule.remedy is None or seen.type == COMPONENT:
            return ()
        gathering = Gathering(self.declarations)
        probe = copy(self)
        probe.asking, probe._inferred = gathering, set()
        for part in selections(seen.type, seen.props):
            probe._whole(seen, part, tasks_of((), ()), ())
        return gathering.changes(rule, self.asking.waiving)

    def finish(
        self, resources: Sequence[Seen], *, is_part: bool = False
    ) -> Iterator[tuple[str, Finding]]:
        """Judge the machines of the whole stack, and say what was not said before.

        Where it `is_part` of a stack, nothing is said on what the rest may say more of: templates
        that nothing launches here, and waivers that accepted nothing.
        """
        self._is_part = is_part
        stack = {seen.urn: seen for seen in resources}
        for seen in stack.values():
            if seen.type == COMPONENT and not self.declarations.has(seen):
                self.declarations.add(seen)
        behind = self.asking.templates = {
            urn: templates(seen, stack) for urn, seen in stack.items()
        }
        launched = {one.urn for ones in behind.values() for one in ones}
        clusters = Clusters(stack, joining(stack), self.declarations.machines)
        tied = self.declarations.tied
        found = {
            urn: [
                tied(seen, clusters.joined(seen, tied(seen, part)), whole=True)
                for part in selections(seen.type, seen.props)
            ]
            for urn, seen in stack.items()
            if urn not in launched
        }
        whole = placed(found, self._is_accelerated)
        self._pools = whole.pools
        self._inferred |= whole.used | clusters.used
        parts = (part for ones in whole.parts.values() for part in ones)
        tasks = tasks_of(parts, self.declarations.components)
        for urn in sorted(found):
            said = {
                (one.code, one.message, one.waived_by)
                for place in (urn, *(one.urn for one in behind[urn]))
                for one in self._told.get(place, ())
            }
            for finding in self._resource(stack[urn], whole.parts[urn], tasks, behind[urn]):
                if (finding.code, finding.message, finding.waived_by) not in said:
                    yield urn, finding
        yield from self._tell_unread()
        yield from (("", finding) for finding in self.asking.together())
        waiving = self.asking.waiving
        if not is_part and (self.asking.answers or waiving.known.is_used):
            for finding in (*waiving.unused(), *waiving.outdated(self._sources)):
                yield finding.subject.resource, finding

    @property
    def _sources(self) -> tuple[str, ...]:
        return (self.run.source,) if self.run.source else ()

    def baseline(self) -> tuple[str, int]:
        """Return the text of the baseline that this run makes, and the number of its findings."""
        return self.asking.waiving.known.text(self._sources, self.run.source)

    def _resource(
        self, seen: Seen, parts: Sequence[Selection], tasks: Tasks, chain: Sequence[Seen]
    ) -> tuple[Finding, ...]:
        """Judge all parts of a resource, and say once what is not known of it."""
        if seen.type == COMPONENT:
            return self._namesake(seen)
        found = (one for part in parts for one in self._whole(seen, part, tasks, chain))
        return self.asking.summed_up(found)

    def _namesake(self, seen: Seen) -> tuple[Finding, ...]:
        """Tell the first of several components of a name too, which was alone when it was judged.

        Inputs are judged as they come: outputs say the same in other words.
        """
        twins = self.declarations.twins_of(seen.name)
        if twins is None:
            return ()
        return self.asking.ask(Question(seen, seen.name, NOTHING._replace(missing=twins)))

    def _component(self, seen: Seen) -> tuple[Finding, ...]:
        """Judge what a component decided."""
        declared = self.declarations.add(seen)
        twins = self.declarations.twins_of(seen.name)
        if twins is not None and declared.missing is None:
            declared = declared._replace(missing=twins)
        pins = tuple(declared.decided.pins.items()) if declared.decided else ()
        return self.asking.ask(Question(seen, seen.name, declared, pins))

    def _alone(self, seen: Seen) -> tuple[Finding, ...]:
        """Judge a resource by what it says itself, where that is enough.

        What is not known is told with the whole stack, which may say it.
        """
        parts = (self.declarations.tied(seen, one) for one in selections(seen.type, seen.props))
        found = (finding for part in parts for finding in self._part(seen, part))
        return tuple(one for one in found if not is_doubt(one))

    def _part(self, seen: Seen, selection: Selection) -> tuple[Finding, ...]:
        if is_deferred(selection) or _waits(selection):
            return ()
        if not selection.workload.text:
            # Who launches a template may say more, its name for one: it waits for the whole stack.
            is_own = selection.workload.known and selection.role is Role.MACHINE
            return self._untagged(seen, selection, whole=False) if is_own else ()
        declared = self.declarations.find(selection.workload.text, seen.parent)
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
        if is_untagged(selection):
            if self._is_part and selection.role is Role.TEMPLATE:
                return ()
            found = self._untagged(seen, selection, whole=True)
            if selection.role is Role.TASK and (found or seen.urn in self._inferred):
                return found  # its machines are judged by themselves too
            return (*found, *self._bare(seen, selection, chain))
        if self._is_child(seen, selection):
            return self._bare(seen, selection, chain, workload.text)
        if not workload.known:
            return self._tell_unknown(seen, selection)
        declared = self.declarations.find(workload.text, seen.parent)
        if declared is None:
            declared = Declared(None, None, self.declarations.missing(workload.text))
            return self.asking.ask(Question(seen, workload.text, declared, part=selection))
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
        if selection.role is Role.POD:
            return ()  # its nodes are machines, and it is none
        machine = self._deployed(seen, selection, chain, owner)
        selection = selection._replace(launches=ABSENT)
        if machine is not None:
            machine = machine._replace(is_inferred=seen.urn in self._inferred)
            unsaid = self._region_of(seen, selection)[1] if self._asks_where and not owner else ()
            asked = Question(seen, owner, NOTHING, unknown=unsaid, part=selection, machine=machine)
            return self.asking.ask(asked)
        is_said = selection.instance_type.known or selection.admitted.says
        if owner or is_said or not self.accelerators.asks_all:
            return ()
        unknown = selection.doubts("instance_type")
        return self.asking.ask(Question(seen, "", NOTHING, unknown=unknown, part=selection))

    @property
    def _asks_where(self) -> bool:
        """Whether the team has a say in where machines lie that no workload owns."""
        return bool(self.run.settings.team.allow_regions)

    def _deployed(
        self, seen: Seen, selection: Selection, chain: Sequence[Seen], owner: str
    ) -> Machine | None:
        """Read what a resource launches, where an accelerator is among it."""
        if not self._is_accelerated(selection):
            return None
        region, _ = self._region_of(seen, selection)
        whole = expanded(opened(selection, self.context, region), self.context.catalog)
        found = machine_of(seen, whole, chain, region, self.context.catalog)
        if found is None:
            return None
        # Of tags no more is kept than is asked for: machines that differ in others are judged once.
        team = self.run.settings.team
        custom = self.run.settings.custom
        tags = found.tags.among((*team.required_tags, team.team_tag, *custom.tag_keys))
        name = "" if owner else found.name
        return found._replace(workload=owner, name=name, tags=tags)

    def _is_accelerated(self, selection: Selection) -> bool:
        """Tell whether a type with accelerators is named, or one is asked for."""
        asked_for = selection.requirements.value if selection.requirements.says else ()
        named = any(self.accelerators.knows(one) for one in named_types(selection))
        return named or any(one.demands for one in asked_for)

    def _may_be_judged(self, selection: Selection) -> bool:
        """Tell whether what an undeclared resource starts may run on accelerators; a pod asks."""
        return selection.role is Role.POD or self._is_accelerated(selection)

    def _untagged(self, seen: Seen, selection: Selection, *, whole: bool) -> tuple[Finding, ...]:
        """Judge what an undeclared machine starts, where its texts say it."""
        launches = selection.launches
        if not launches.says and launches != UNKNOWN:
            return ()
        if not self._may_be_judged(selection):
            return self._homeless(seen, selection) if whole and launches.says else ()
        region, _ = self._region_of(seen, selection)
        selection = opened(selection, self.context, region)._replace(workload=Value(seen.name))
        if is_stranded(selection):
            return self._stranded(seen, selection)
        selection = expanded(selection, self.context.catalog)
        named = (selection.instance_type.text, *(selection.types.value or ()))
        found_types = map(self.context.catalog.find_instance, named)
        types = [one for one in found_types if one is not None]
        if not types:
            return ()
        if not launches.known:
            if whole and not self.run.settings.require_declaration:
                self._inferred.add(seen.urn)
                self._unread[seen.urn] = seen, selection
            return ()
        found: list[Finding] = []
        for work in self._works_of(seen, selection, region, types):
            if not is_open(selection, work.declared):
                found += self._machine(seen, selection, work.declared, whole=whole, work=work)
        return tuple(found)

    def _works_of(
        self, seen: Seen, selection: Selection, region: str, types: Sequence[InstanceType]
    ) -> tuple[Work, ...]:
        """Return what processes of one of some types do, as far as their texts say it."""
        from gpusize_policies.inferred import Room, works

        launches, held = selection.launches.value, selection.gpus.value
        gpus, source = gpus_of(selection, types), selection.name_of("gpus")
        room = Room(gpus, held, source, selection.is_pool)
        question = (launches, region, room)
        if question not in self._works:
            self._works[question] = works(launches, self.context.catalog, region, room)
        if self._works[question]:
            self._inferred.add(seen.urn)
        return self._works[question]

    def _homeless(self, seen: Seen, selection: Selection) -> tuple[Finding, ...]:
        """Say of an undeclared task that starts something on GPUs that its machines are missing."""
        from gpusize_policies.launched import infer_all

        engines = [one.engine for one in infer_all(selection.launches.value)]
        missing = homeless(selection, engines, self._pools) if engines else None
        if missing is None:
            return ()
        declared = NOTHING._replace(missing=missing)
        return self.asking.ask(Question(seen, seen.name, declared, part=selection))

    def _tell_unread(self) -> Iterator[tuple[str, Finding]]:
        """Say once of which undeclared machines a text is not known: one by itself, several in sum.

        Where each GPU must be declared each of them is undeclared, and told so.
        """
        if len(self._unread) == 1:
            ((seen, part),) = self._unread.values()
            unsaid = part.doubts("launches")
            found = self.asking.ask(Question(seen, "", NOTHING, unknown=unsaid, part=part))
            yield from ((seen.urn, finding) for finding in found)
        elif self._unread:
            missing = unread(self._unread.values())
            yield from (("", finding) for finding in self.asking.of_run(missing))

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
        if is_stranded(selection):
            return self._stranded(seen, selection)
        by_family = names_family(selection)
        selection = expanded(selection, self.context.catalog)
        by_family = by_family and not self._has_no_gpu(selection)
        unknown = _unknown(selection)
        if unknown:
            unsaid = (*unknown, *doubts)
            return self.asking.ask(Question(seen, name, NOTHING, unknown=unsaid, part=selection))
        if selection.is_helper and self._has_no_gpu(selection):
            return ()
        pins = pinned(selection, declared, (region,) if region else ())
        found: Survey | None = None
        if (is_choice(selection) or by_family) and declared.workload is not None:
            found = self._survey(name, declared, pins, selection)
            selection = represented(selection, found)
            pins = pinned(selection, declared, (region,) if region else ())
        return self.asking.ask(
            Question(
                seen,
                name,
                declared,
                pins=tuple(pins.items()),
                unknown=doubts,
                part=selection,
                whole=whole,
                only=_spoken(selection),
                region=region,
                survey=found,
                work=work,
                machine=machine,
            )
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
        self, name: str, declared: Declared, pins: Mapping[str, object], selection: Selection
    ) -> Survey | None:
        """Judge all types that one may be picked from, once for equal work."""
        assert declared.workload is not None
        names = selection.types.value
        question = (name, declared.key, tuple(pins.items()), names, share_of(selection))
        if question not in self._surveys:
            workload, folder = declared.workload.pinned(pins), self.declarations.folder_of(declared)
            context = self.context._replace(catalog=self.asking.catalog_of(selection))
            self._surveys[question] = surveyed(workload, names, context, folder, name)
        return self._surveys[question]

    def _stranded(self, seen: Seen, selection: Selection) -> tuple[Finding, ...]:
        """Say why nobody can tell what a pod runs on."""
        name, declared = selection.workload.text, NOTHING
        unknown: tuple[str, ...] = ()
        if any(selection.obstacle):
            declared = NOTHING._replace(missing=Problem("", *selection.obstacle))
        else:
            unknown = (selection.name_of("instance_type" if selection.gpus.known else "gpus"),)
        return self.asking.ask(Question(seen, name, declared, unknown=unknown, part=selection))

    def _has_no_gpu(self, selection: Selection) -> bool:
        return self.context.catalog.find_instance(selection.instance_type.text) is None

    def _is_child(self, seen: Seen, selection: Selection) -> bool:
        """Tell what a component made just as it decided: it was judged with the component."""
        parent = self.declarations.components.get(selection.workload.text, {}).get(seen.parent)
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
        unsaid = selection.doubts("workload")
        return self.asking.ask(Question(seen, "", NOTHING, unknown=unsaid, part=selection))


NOTHING = Declared(None, None)


def _region(declared: Declared) -> str:
    return declared.workload.region if declared.workload else ""


def _spoken(selection: Selection) -> frozenset[str] | None:
    """Name the rules that speak on a resource; None: all of them."""
    if selection.role in KEEPING:
        return OF_RESERVATIONS if selection.role is Role.RESERVATION else OF_CAPACITY
    return OF_ATTRIBUTES if selection.instance_type == BY_ATTRIBUTES else None


def _waits(selection: Selection) -> bool:
    """Tell whether what runs decides which of the types of a pool are taken, or how many."""
    runs = selection.role in (Role.TASK, Role.POD)
    return runs or (selection.is_pool and is_several(selection))


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


__all__ = ["KINDS", "Run", "Session"]
