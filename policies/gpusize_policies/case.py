"""What a rule judges: one declared workload on one placement, and what may be asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gpusize_policies.finding import Provenance, Subject
from gpusize_policies.message import about

if TYPE_CHECKING:
    import datetime
    from pathlib import Path

    from gpusize.constraints.reason import Reason
    from gpusize.resolution import Plan, Resolution
    from gpusize.resolving.candidate import Candidate
    from gpusize.resolving.listed import Survey
    from gpusize.workload import Workload
    from gpusize_catalog.problems import Problem
    from gpusize_catalog.store import Catalog
    from gpusize_policies.deployed import Machine
    from gpusize_policies.launched import Inferred
    from gpusize_policies.reading import Selection
    from gpusize_policies.settings import Settings
    from gpusize_policies.waivers import Facts
    from gpusize_policies.whole import Whole


class Decided(NamedTuple):
    """What was chosen before the rules look: by the component, the lock, or a raw resource.

    Keys of `pins` are fields of the workload (`instance_type`, `market`, `tp` …); a field that is
    not there is open. Versions are empty where nothing says them.
    """

    pins: Mapping[str, object]
    catalog_version: str = ""
    catalog_digest: str = ""
    gpusize_version: str = ""


class Case:
    """One workload to judge.

    Everything derived is computed once, on first use: a rule asks, it never computes physics.
    """

    def __init__(
        self,
        name: str,
        workload: Workload | None,
        *,
        catalog: Catalog,
        today: datetime.date,
        settings: Settings,
        subject: Subject | None = None,
        decided: Decided | None = None,
        lock: object = None,
        unknown: tuple[str, ...] = (),
        missing: Problem | None = None,
        selection: Selection | None = None,
        base_dir: Path | None = None,
        waivers: Facts | None = None,
        deployed_region: str = "",
        seller: str = "",
        launched: tuple[Inferred, ...] = (),
        provenance: Provenance | None = None,
        machine: Machine | None = None,
        expected: Mapping[str, object] | None = None,
        whole: Whole | None = None,
        memory: dict[object, Resolution | None] | None = None,
    ) -> None:
        """Keep what is judged.

        `selection` is what a machine of a stack asks for, with all that the stack says of it;
        `missing` says why there is no workload and what would help, `unknown` names properties
        without a value yet, `base_dir` is what paths in the declaration are relative to. `machine`
        is what a resource launches, `expected` what was decided for its workload elsewhere, and
        `deployed_region` where it is made, empty where nothing but the declaration says it;
        `workload` keeps the region that was declared. `whole` is everything of a run, and `waivers`
        what there is to say of waivers: cases of their own.
        `seller` is the service that bills the machines at prices of its own, empty for EC2.
        `launched` is what the texts of the machine start; `provenance` is said of a declaration
        that comes from them. `memory` holds what cases of the same day and settings resolved.
        """
        self.name = name
        self.workload = workload
        self.catalog = catalog
        self.today = today
        self.settings = settings
        self.subject = subject or Subject(workload=name)
        self.decided = decided
        self.lock = lock
        self.unknown = unknown
        self.missing = missing
        self.selection = selection
        self.base_dir = base_dir
        self.memory = {} if memory is None else memory
        self.waivers = waivers
        self.deployed_region = deployed_region
        self.seller = seller
        self.launched = launched
        self.provenance = provenance or Provenance()
        self.machine = machine
        self.expected = expected or {}
        self.whole = whole
        self.problems: tuple[Problem, ...] = ()
        self._reasons: dict[str, tuple[Reason, ...]] = {}
        self._without: dict[tuple[str, ...], Resolution | None] = {}

    @property
    def about(self) -> str:
        """What messages begin with: the workload, else the resource, else the run."""
        if self.name:
            return about("workload", self.name)
        if self.machine is not None:
            return about("resource", self.machine.name)
        return "" if self.whole is None else "the whole run"

    def take_over(self, other: Case) -> None:
        """Take what another case of the same work on the same pins has worked out.

        Cases of equal workload, decision, catalog, settings and folder decide alike, whatever else
        is known of the machine.
        """
        shared = ("judged", "resolution", "fresh", "unpinned", "_is_misshapen", "is_blamed")
        found = {name: other.__dict__[name] for name in shared if name in other.__dict__}
        self.__dict__.update(found)
        self.problems, self._reasons, self._without = other.problems, other._reasons, other._without

    @cached_property
    def judged(self) -> Workload | None:
        """The workload with what was decided as its pins."""
        if self.workload is None or self.decided is None or not self.decided.pins:
            return self.workload
        return self.workload.pinned(self.decided.pins)

    @cached_property
    def resolution(self) -> Resolution | None:
        """The judged workload resolved; None when it cannot be, and then `problems` says why."""
        return self._resolve(self.judged)

    @cached_property
    def fresh(self) -> Resolution | None:
        """The declaration as it is, resolved by this catalog, without what was decided before."""
        return self.resolution if self.judged is self.workload else self._resolve(self.workload)

    @cached_property
    def unpinned(self) -> Resolution | None:
        """What would be chosen without pins: where the cheapest fix comes from."""
        if self.workload is None or self.resolution is None:
            return None
        from gpusize.resolve import is_pinned, unpinned

        if self.judged is self.workload and not is_pinned(self.workload):
            return self.resolution
        question = ("unpinned", *self._question(self.workload))
        if question not in self.memory:
            self.memory[question] = unpinned(
                self.workload,
                self.catalog,
                today=self.today,
                name=self.name,
                settings=self.settings.resolving,
                base_dir=self.base_dir,
            )
        return self.memory[question]

    @property
    def candidate(self) -> Candidate | None:
        """The placement that rules judge."""
        return self.resolution.candidate if self.resolution else None

    @property
    def cheapest(self) -> Plan | None:
        """The best plan without pins."""
        return self.unpinned.plan if self.unpinned else None

    @property
    def is_own_choice(self) -> bool:
        """Whether gpusize chose the type that is judged: none is pinned, or a component or the lock
        pinned what was decided."""
        if self.workload is None or self.workload.instance_type is not None:
            return False
        decided = self.decided
        if decided is None or "instance_type" not in decided.pins or decided.gpusize_version:
            return True
        locked: Mapping[str, object] = getattr(self.lock, "pins", {})
        return locked.get("instance_type") == decided.pins["instance_type"]

    @cached_property
    def is_blamed(self) -> bool:
        """Whether a rule of its own says why the pinned placement is no plan."""
        from gpusize.constraints.reason import Weight
        from gpusize_policies.registry import RULES

        judged = self.judged
        wanted = judged.instance_type if judged else None
        if wanted is not None and self.catalog.find_instance(wanted) is None:
            return True
        return any(
            reason.weight is Weight.ERROR
            for rule in RULES
            if rule.is_constraint
            for reason in self.reasons(rule.name)
        )

    @cached_property
    def survey(self) -> Survey | None:
        """Which of the types that a machine may be launched as do the work."""
        if self.candidate is None or self.selection is None or not self.selection.types.says:
            return None
        from gpusize.resolving.listed import survey

        return survey(self.candidate.study, self.selection.types.value)

    def without(self, *fields: str) -> Resolution | None:
        """The judged workload with some of its pins dropped, resolved."""
        if fields not in self._without:
            judged = self.judged
            opened = judged.model_copy(update=dict.fromkeys(fields)) if judged else None
            self._without[fields] = self._resolve(opened)
        return self._without[fields]

    def reasons(self, name: str) -> tuple[Reason, ...]:
        """What the constraint of that name says about the candidate."""
        if name not in self._reasons:
            from gpusize.constraints import CONSTRAINTS, DECLARATION, SHAPE

            candidate = self.candidate
            if name not in SHAPE and name not in DECLARATION and self._is_misshapen:
                candidate = None
            self._reasons[name] = tuple(CONSTRAINTS[name](candidate)) if candidate else ()
        return self._reasons[name]

    @cached_property
    def _is_misshapen(self) -> bool:
        """Whether pinned sizes suit the model on no type, and nobody named the candidate's."""
        from gpusize.constraints import SHAPE

        resolution, judged = self.resolution, self.judged
        if resolution is None or resolution.plan is not None or judged is None:
            return False
        return judged.instance_type is None and any(self.reasons(name) for name in SHAPE)

    def _question(self, workload: Workload) -> tuple[object, ...]:
        """Tell what is resolved, beside the day and the settings that a run has one of."""
        return (self.name, workload.model_dump_json(), self.base_dir, id(self.catalog))

    def _resolve(self, workload: Workload | None) -> Resolution | None:
        if workload is None:
            return None
        from gpusize.resolve import resolve
        from gpusize_catalog.problems import GpuSizeError

        question = self._question(workload)
        if question in self.memory:
            return self.memory[question]
        try:
            found = resolve(
                workload,
                self.catalog,
                today=self.today,
                name=self.name,
                settings=self.settings.resolving,
                base_dir=self.base_dir,
            )
        except GpuSizeError as error:
            self.problems = error.problems
            return None
        self.memory[question] = found
        return found
