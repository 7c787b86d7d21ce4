"""Judges the resources of one run of a program: what the policy pack does, without Pulumi.

A `GpuWorkload` brings its declaration and what was decided. A plain AWS resource points at a
declaration by its tag; it is judged at once where both are known, else at the end of the run, when
every resource of the stack is. Equal questions are answered once.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.placement import Layout
from gpusize.project import DECLARATIONS_FILE
from gpusize.tokens import COMPONENT
from gpusize_catalog.problems import GpuSizeError, Problem
from gpusize_policies.case import Case, Decided
from gpusize_policies.finding import Finding, Subject
from gpusize_policies.inputs import Context, declarations
from gpusize_policies.judge import evaluate
from gpusize_policies.reading import EXTRACTORS, Props, Selection, Value, select

if TYPE_CHECKING:
    from gpusize.lock import Entry
    from gpusize.workload import Workload
    from gpusize_catalog.store import Catalog
    from gpusize_policies.settings import Settings

KINDS = frozenset({COMPONENT, *EXTRACTORS})
"""Types of resources that are judged."""

NOT_DECLARED = ("decision", "createInstance", "allowMisfit")
"""Registered inputs of the component that are no fields of the declaration."""
FILED = "file"
"""Key of what stands in the file of declarations: with its name it is told apart."""
TEMPLATE = "launchTemplate"
"""Property of an instance through which a launch template gives what it does not say itself."""

Pins = dict[str, object]


class Seen(NamedTuple):
    """One resource as a policy sees it: a mapping of plain values or the SDK's proxies."""

    type: str
    name: str
    urn: str
    props: Any
    parent: str = ""
    provider_region: Value = Value()
    sources: Mapping[str, Sequence[str]] = {}
    """URNs of the resources that each property depends on, where they are told."""


class Declared(NamedTuple):
    """A workload of this run, with what was decided for it where a component did."""

    workload: Workload | None
    decided: Decided | None
    missing: str = ""
    urn: str = ""
    key: str = ""
    """Equal for equal content: what answers are kept by."""


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


class Session:
    """Remembers the declarations of one run and judges its resources."""

    def __init__(self, run: Run) -> None:
        """Read nothing yet: a stack without GPUs costs nothing."""
        self.run = run
        self._components: dict[str, Declared] = {}
        self._judged: set[str] = set()
        self._read: dict[str, Declared] = {}
        self._answers: dict[object, tuple[Finding, ...]] = {}

    @cached_property
    def context(self) -> Context:
        """The catalog with what every case shares."""
        from gpusize_catalog.store import load

        return Context(load(self.run.overlays), self.run.settings, self.run.today)

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
        return (*self._file[1], *self._lock[1], *self._unknown_models())

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

    def waits(self, urn: str) -> bool:
        """Tell whether a resource was not judged yet."""
        return urn not in self._judged

    def judge(self, seen: Seen) -> tuple[Finding, ...]:
        """Judge one resource by its inputs; what cannot be judged yet waits for `finish`."""
        if seen.type == COMPONENT:
            return self._component(seen)
        found = self._plain(seen, {})
        if found is None:
            return ()
        self._judged.add(seen.urn)
        return found

    def finish(self, resources: Sequence[Seen]) -> Iterator[tuple[str, Finding]]:
        """Judge by their outputs those resources of the whole stack that had to wait."""
        stack = {seen.urn: seen for seen in resources}
        for seen in resources:
            if seen.type == COMPONENT and seen.name not in self._components:
                self._components[seen.name] = self._declared(seen)
        for seen in resources:
            if seen.type == COMPONENT or not self.waits(seen.urn):
                continue
            for finding in self._plain(seen, stack) or ():
                yield seen.urn, finding

    def _component(self, seen: Seen) -> tuple[Finding, ...]:
        declared = self._declared(seen)
        self._components[seen.name] = declared
        decided = declared.decided
        pins = tuple(decided.pins.items()) if decided else ()
        return self._ask(seen, seen.name, declared, pins)

    def _folder_of(self, declared: Declared) -> Path | None:
        """Return what paths in a declaration are relative to."""
        return self.file.parent if self.file and declared.key == FILED else self.run.folder

    def _declared(self, seen: Seen) -> Declared:
        """Read a component once for each content."""
        whole = plain(seen.props)
        key = json.dumps(whole, sort_keys=True, default=repr)
        if key not in self._read:
            self._read[key] = _declared(whole, self.context.catalog)
        return self._read[key]._replace(urn=seen.urn, key=key)

    def _plain(self, seen: Seen, stack: Mapping[str, Seen]) -> tuple[Finding, ...] | None:
        """Judge a plain resource; None when a part is missing that the whole stack may have."""
        selection = select(seen.type, seen.props)
        if selection is None or (selection.workload.known and not selection.workload.text):
            return ()
        name = selection.workload.text
        declared = self._find(name)
        if not stack and (declared is None or not selection.instance_type.text):
            return () if self._is_child(seen, name, selection) else None
        if stack:
            selection = _through_template(seen, selection, stack)
        if self._is_child(seen, name, selection):
            return ()
        if not selection.workload.known:
            return self._tell_unknown(seen, selection)
        if declared is None:
            return self._ask(seen, name, Declared(None, None, self._missing), ())
        unknown = _unknown(selection)
        if unknown:
            return self._ask(seen, name, Declared(None, None), (), unknown)
        pins = self._pins(seen, selection, declared)
        return self._ask(seen, name, declared, tuple(pins.items()))

    @property
    def _missing(self) -> str:
        """Say where a declaration was looked for."""
        if self.file is not None:
            return f"no GpuWorkload of this stack and no entry of {self.file.name} has that name"
        where = "beside the program" if self.run.folder else "(GPUSIZE_PROGRAM names its folder)"
        return f"no GpuWorkload of this stack has that name, and no {DECLARATIONS_FILE} is {where}"

    def _find(self, name: str) -> Declared | None:
        return self._components.get(name) or self._file[0].get(name)

    def _is_child(self, seen: Seen, name: str, selection: Selection) -> bool:
        """Tell what a component made just as it decided: it was judged with the component."""
        parent = self._components.get(name)
        if parent is None or not parent.urn or seen.parent != parent.urn:
            return False
        decided = parent.decided.pins.get("instance_type") if parent.decided else None
        return selection.instance_type.text in ("", decided)

    def _tell_unknown(self, seen: Seen, selection: Selection) -> tuple[Finding, ...]:
        """Unknown tags are told where the type says that there is a GPU to speak of."""
        known_type = selection.instance_type.text
        if not known_type or self.context.catalog.find_instance(known_type) is None:
            return ()
        return self._ask(seen, "", Declared(None, None), (), (selection.unknown[0],))

    def _pins(self, seen: Seen, selection: Selection, declared: Declared) -> Pins:
        """Pin what the resource says; one instance is one node unless more are declared."""
        from gpusize.workload import Market

        workload = declared.workload
        pins: Pins = {"instance_type": selection.instance_type.text}
        market = selection.market.text
        if market or seen.type.endswith(":Instance"):
            pins["market"] = Market(market) if market else Market.ON_DEMAND
        if workload is not None and workload.nodes_per_replica is None:
            pins["nodes_per_replica"] = 1
        region = selection.region.text or seen.provider_region.text or self.run.region
        for field, value in (
            ("zone", selection.zone.text),
            ("region", region),
            ("capacity_reservation", selection.capacity_reservation.text),
        ):
            if value:
                pins[field] = value
        return pins

    def _ask(
        self,
        seen: Seen,
        name: str,
        declared: Declared,
        pins: tuple[tuple[str, object], ...],
        unknown: tuple[str, ...] = (),
    ) -> tuple[Finding, ...]:
        """Evaluate a case, or take the answer that an equal one got."""
        subject = Subject(workload=name, resource=seen.urn)
        question = (name, declared.key, pins, declared.missing, unknown)
        if question not in self._answers:
            decided = declared.decided
            if seen.type != COMPONENT:
                decided = Decided(dict(pins)) if pins else None
            case = Case(
                name,
                declared.workload,
                catalog=self.context.catalog,
                today=self.run.today,
                settings=self.run.settings,
                subject=subject,
                decided=decided,
                lock=self._lock[0].get(name),
                unknown=unknown,
                missing=declared.missing,
                base_dir=self._folder_of(declared),
            )
            self._answers[question] = evaluate(case, self.run.settings)
        return tuple(one._replace(subject=subject) for one in self._answers[question])


def _unknown(selection: Selection) -> tuple[str, ...]:
    """Name what a judgement cannot do without."""
    names = []
    if not selection.instance_type.text:
        names.append("instanceType")
    if not selection.market.known:
        names.append("instanceMarketOptions.marketType")
    return tuple(names)


def _through_template(seen: Seen, own: Selection, stack: Mapping[str, Seen]) -> Selection:
    """Fill in from the launch template of an instance what it does not say itself."""
    for urn in seen.sources.get(TEMPLATE, ()):
        template = stack.get(urn)
        given = select(template.type, template.props) if template else None
        if given is not None:
            pairs = zip(own, given, strict=True)
            return Selection(*(mine if _says(mine) else other for mine, other in pairs))
    return own


def _says(value: Value) -> bool:
    return value.known and value.value is not None


def _declared(whole: Mapping[str, Any], catalog: Catalog) -> Declared:
    """Read a component: its inputs are the declaration, its outputs hold one."""
    from gpusize.workload import parse_workload

    inner = whole.get("declaration")
    raw = inner if isinstance(inner, dict) else _without(whole, NOT_DECLARED)
    decision = whole if isinstance(inner, dict) else whole.get("decision")
    decided = _decided(decision) if isinstance(decision, dict) else None
    try:
        return Declared(parse_workload(raw, catalog=catalog), decided)
    except GpuSizeError as error:
        # A component of another version may know fields that are unknown here.
        return Declared(None, None, f"the declaration is not readable: {error.problems[0]}")


def _without(fields: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def _decided(decision: Mapping[str, Any]) -> Decided | None:
    """Read what the component decided; None where it found no type."""
    from gpusize.workload import Market

    versions = {"gpusize_version": str(decision.get("version", ""))}
    if not decision.get("locked"):
        # A locked decision keeps the catalog it was made with, which says nothing of the plugin.
        versions["catalog_version"] = str(decision.get("catalogVersion", ""))
        versions["catalog_digest"] = str(decision.get("catalogDigest", ""))
    instance_type = decision.get("instanceType")
    if not isinstance(instance_type, str):
        return Decided({}, **versions)
    pins: Pins = {"instance_type": instance_type}
    nodes, market, layout = (decision.get(key) for key in ("nodes", "market", "layout"))
    if isinstance(nodes, (int, float)):
        pins["nodes_per_replica"] = int(nodes)
    if market in {one.value for one in Market}:
        pins["market"] = Market(market)
    if isinstance(layout, Mapping):
        pins.update((key, int(layout[key])) for key in Layout._fields if key in layout)
    return Decided(pins, **versions)


def plain(value: Any) -> Any:
    """Copy proxies into plain data; what is not known is left out."""
    if isinstance(value, Mapping):
        reader = Props(value)
        pairs = ((key, reader.own(key)) for key in value)
        return {key: plain(found.value) for key, found in pairs if found.known}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        items = (Props(value).own(index) for index in range(len(value)))
        return [plain(item.value) for item in items if item.known]
    return value
