"""Puts questions on the resources of one run to the rules; equal ones are answered once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gpusize.tokens import COMPONENT
from gpusize_policies.case import Case, Decided
from gpusize_policies.finding import Finding, Provenance, Subject
from gpusize_policies.judge import asked, evaluate, told_once
from gpusize_policies.lodging import on_share, share_of, shared
from gpusize_policies.message import ANYONE, renamed
from gpusize_policies.reading import ABSENT, UNKNOWN, Selection, Value
from gpusize_policies.reading.tags import waiver_tag
from gpusize_policies.reading.values import first
from gpusize_policies.waiving import Waiving
from gpusize_policies.whole import Share, Whole, share_in_run, whole_of

if TYPE_CHECKING:
    from gpusize.resolution import Resolution
    from gpusize.resolving.listed import Survey
    from gpusize_catalog.problems import Problem
    from gpusize_catalog.store import Catalog
    from gpusize_policies.declarations import Declarations
    from gpusize_policies.declared import Declared
    from gpusize_policies.deployed import Machine
    from gpusize_policies.inferred import Work
    from gpusize_policies.launched.inferring import Inferred
    from gpusize_policies.machines import Seen


class Question(NamedTuple):
    """What is asked about one part of a resource."""

    seen: Seen
    name: str
    """Of its workload."""
    declared: Declared
    pins: tuple[tuple[str, object], ...] = ()
    unknown: tuple[str, ...] = ()
    part: Selection | None = None
    """What a machine asks for; rules see it where it is the `whole` of it."""
    whole: bool = False
    only: frozenset[str] | None = None
    """Names of the rules that count; None: all."""
    region: str = ""
    survey: Survey | None = None
    work: Work | None = None
    machine: Machine | None = None

    @property
    def subject(self) -> Subject:
        """What the findings are on."""
        place = self.part.place if self.part else ""
        return Subject(workload=self.name, resource=self.seen.urn, path=place)

    @property
    def spoken(self) -> frozenset[str] | None:
        """Names of the rules that count, by what is asked and by what is known of the work."""
        if self.work is None:
            return self.only
        return self.work.only if self.only is None else self.only & self.work.only


class Answer(NamedTuple):
    """What the rules said on a case, which of them were asked, and what it takes of budgets."""

    findings: tuple[Finding, ...]
    codes: frozenset[str]
    share: Share | None


class Asking:
    """The answers of one run, with its waivers applied."""

    def __init__(self, declarations: Declarations) -> None:
        """Ask nothing yet."""
        self.declarations = declarations
        self.templates: Mapping[str, tuple[Seen, ...]] = {}
        """What machines are launched from, by URN; known at the end of the run."""
        self.answers: dict[object, Answer] = {}
        self._resolved: dict[object, Resolution | None] = {}
        """What was resolved: many machines differ in what decides nothing of the work."""
        self._cases: dict[object, Case] = {}
        """The last case of each work on the same pins."""
        self._shares: dict[tuple[str, str], Share] = {}
        """What each part of a resource takes of the run's budgets, by URN and place."""
        self._views: dict[object, Catalog] = {}
        """The catalog as pods see it that take some of the GPUs of a node."""
        self._once: dict[str, str] = {}
        """Resource that a rule spoke on whose finding holds for the whole run, by code."""

    @cached_property
    def waiving(self) -> Waiving:
        """The waivers of this run, and what becomes of them."""
        return Waiving(self.declarations.context)

    @cached_property
    def _unpriced(self) -> Catalog:
        """The catalog for what is not bought from EC2: its prices are not those of others."""
        return self.declarations.context.catalog.without_prices()

    @cached_property
    def _asks_identity(self) -> bool:
        """Whether rules of the team tell resources apart that are equal but for their names."""
        custom = self.declarations.context.settings.custom
        return bool({"resource.type", "resource.name"} & custom.facts)

    def catalog_of(self, part: Selection | None) -> Catalog:
        """The catalog as what runs sees it: without prices of others, or a share of nodes."""
        catalog = self.declarations.context.catalog
        if part is not None and part.seller:
            return self._unpriced
        share = share_of(part)
        if share is None:
            return catalog
        if share not in self._views:
            self._views[share] = shared(catalog, share)
        return self._views[share]

    def ask(self, question: Question) -> tuple[Finding, ...]:
        """Evaluate a case, or take the answer that an equal one got."""
        seen, name, subject = question.seen, question.name, question.subject
        # Machines that start the same are judged once, whatever they are called.
        called = name if question.work is None else ANYONE
        said, codes, taken = self._answer(question, called, subject)
        if taken is not None:
            self._shares[seen.urn, subject.path] = taken
        only = question.spoken
        found = tuple(
            one._replace(subject=subject, message=renamed(one.message, called, name))
            for one in said
            if only is None or one.name in only
        )
        codes = codes if only is None else frozenset()
        tag = self.waiver_tag(seen)
        found = self.waiving.over(subject, question.declared.workload, found, codes, tag)
        return told_once(found, seen.urn, self._once)

    def together(self) -> tuple[Finding, ...]:
        """Judge all that the run takes: what a resource takes is known when it was judged."""
        if not self._shares:
            return ()
        return self.waiving.judge(self._case_of_run(whole=whole_of(self._shares.values())))

    def of_run(self, missing: Problem) -> tuple[Finding, ...]:
        """Say what is missing of several resources at once."""
        return self.waiving.judge(self._case_of_run(missing=missing))

    def _case_of_run(self, whole: Whole | None = None, missing: Problem | None = None) -> Case:
        context = self.declarations.context
        return Case(
            "",
            None,
            catalog=context.catalog,
            today=context.today,
            settings=context.settings,
            whole=whole,
            missing=missing,
        )

    def summed_up(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Put what is not known of one resource together: in one finding, not in one for each part.

        Of a resource with several parts the names of its properties say which is meant.
        """
        found = tuple(findings)
        doubtful = [one for one in found if is_doubt(one)]
        if len(doubtful) < 2:
            return found
        names = dict.fromkeys(name for one in doubtful for name in _doubts(one))
        subject = doubtful[0].subject._replace(path="")
        told = self.waiving.of_unknown(subject, tuple(names))
        return (*told, *(one for one in found if not is_doubt(one)))

    def _answer(self, question: Question, called: str, subject: Subject) -> Answer:
        seen, declared, part = question.seen, question.declared, question.part
        seller = part.seller if part else ""
        launched = _launched(part.launches) if part else ()
        selection = _shown(part, called) if part and question.whole else None
        key = (
            *(called, declared.key, question.pins, declared.missing, question.unknown),
            *(selection, subject.path, seller, launched, question.machine, share_of(part)),
            seen.urn if self._asks_identity else "",
        )
        if key not in self.answers:
            settings = self.declarations.context.settings
            case = self.case_of(question, called, subject)
            taken = share_in_run(case, is_component=seen.type == COMPONENT)
            self.answers[key] = Answer(evaluate(case, settings), asked(case, settings), taken)
        return self.answers[key]

    def case_of(self, question: Question, called: str, subject: Subject) -> Case:
        """Make what is judged; it is `called` as its messages are to say."""
        seen, declared, part = question.seen, question.declared, question.part
        decided = declared.decided
        if seen.type != COMPONENT:
            decided = Decided(dict(question.pins)) if question.pins else None
        context, name, work = self.declarations.context, question.name, question.work
        is_locked = bool(name) and not declared.missing
        case = Case(
            called,
            declared.workload,
            catalog=self.catalog_of(part),
            today=context.today,
            settings=context.settings,
            subject=subject,
            decided=decided,
            lock=self.declarations.locked.get(name) if is_locked else None,
            unknown=question.unknown,
            missing=declared.missing,
            selection=_shown(part, called) if part and question.whole else None,
            base_dir=self.declarations.folder_of(declared),
            deployed_region=question.region,
            seller=part.seller if part else "",
            launched=_launched(part.launches) if part else (),
            provenance=on_share(work.provenance if work else Provenance(), share_of(part)),
            machine=question.machine,
            memory=self._resolved,
            expected=self.declarations.expected(name, declared),
        )
        same = (called, declared.key, question.pins, bool(decided), case.seller)
        if declared.key and same in self._cases:
            case.take_over(self._cases[same])
        self._cases[same] = case
        if question.survey is not None:
            case.survey = question.survey
        return case

    def waiver_tag(self, seen: Seen) -> Value:
        """Read the tag of a machine, else that of its launch template."""
        if seen.type == COMPONENT:
            return ABSENT
        return first(*(waiver_tag(one.props) for one in (seen, *self.templates.get(seen.urn, ()))))


def is_doubt(finding: Finding) -> bool:
    """Tell a summary of properties that are not known yet."""
    return "unknownProperties" in finding.numbers and not finding.is_accepted


def _doubts(finding: Finding) -> Iterable[str]:
    """Name the properties of such a summary, with the part of the resource that they are of."""
    place = finding.subject.path
    for name in str(finding.numbers["properties"]).split(", "):
        yield f"{place}.{name}" if place and not name.startswith(place) else name


def _launched(launches: Value) -> tuple[Inferred, ...]:
    """Return what the texts of a machine say."""
    if not launches.says:
        return ()
    from gpusize_policies.launched.inferring import infer_all

    return infer_all(launches.value)


def _shown(selection: Selection, name: str) -> Selection:
    """Return what rules see: of texts, which hold secrets, only what was understood of them."""
    shown = selection._replace(launches=ABSENT if selection.launches != UNKNOWN else UNKNOWN)
    return shown._replace(workload=Value(ANYONE)) if name == ANYONE else shown
