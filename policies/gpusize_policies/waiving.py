"""What one run accepts: waivers and the baseline, applied to what is said on each subject.

The session of the pack and the command go through here alike. What is decided is pure, see
`waivers`; here is what a run remembers of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from gpusize.tokens import WAIVER_TAG
from gpusize_policies.baselining import Baselining
from gpusize_policies.case import Case
from gpusize_policies.finding import Finding, Subject
from gpusize_policies.judge import CANNOT_EVALUATE, asked, evaluate
from gpusize_policies.reading.values import ABSENT, Value
from gpusize_policies.registry import RULES, Needs
from gpusize_policies.waivers import (
    Facts,
    Standing,
    State,
    Waiver,
    apply,
    covers,
    ids_in,
    stand,
    strangers,
)

if TYPE_CHECKING:
    from gpusize.workload import Workload
    from gpusize_policies.inputs import Context


class Tally(NamedTuple):
    """What became of a waiver so far."""

    standing: Standing
    asked: bool = False
    """Whether its rule was asked about what it is for."""
    open: bool = False
    """Whether something was not known there, so that the rule may speak later."""
    accepted: int = 0
    """Findings."""

    @property
    def is_unused(self) -> bool:
        """Whether its rule could have spoken, and was silent."""
        return self.standing.holds and self.asked and not self.open and not self.accepted


class Waiving:
    """Applies the waivers of a run, and remembers which were of use."""

    def __init__(self, context: Context) -> None:
        """Take the waivers of the settings; those of workloads come with what is judged."""
        self.context = context
        self.known = Baselining(context.baseline)
        self.filed = self._stand(context.settings.waivers)
        self._told: dict[tuple[str, str], str] = {}
        """Where each waiver was spoken of first, by what is said of it and its label."""
        self._tallies = {_key("", one): Tally(one) for one in self.filed}
        """By what a waiver says, and the workload that it stands on, '' for the settings."""

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """What became of each waiver: of the settings in their order, then of the workloads."""
        return tuple(self._tallies.values())

    def judge(self, case: Case) -> tuple[Finding, ...]:
        """Evaluate a case, with the waivers applied."""
        settings = self.context.settings
        findings = evaluate(case, settings)
        return self.over(case.subject, case.workload, findings, asked(case, settings))

    def over(
        self,
        subject: Subject,
        workload: Workload | None,
        findings: tuple[Finding, ...],
        codes: frozenset[str],
        tag: Value = ABSENT,
    ) -> tuple[Finding, ...]:
        """Mark the accepted findings on one subject, and add what there is to say of them.

        `codes` are the rules that were asked, `tag` is that of the resource.
        """
        found = self._waived(subject, workload, findings, codes, tag)
        if not self.known.is_used:
            return found
        found = self.known.over(subject, found, codes)
        known = tuple(one for one in found if one.in_baseline)
        return (*found, *self._say(subject, Facts(known=known)))

    def _waived(
        self,
        subject: Subject,
        workload: Workload | None,
        findings: tuple[Finding, ...],
        codes: frozenset[str],
        tag: Value,
    ) -> tuple[Finding, ...]:
        own = self._own(workload, subject)
        named = ids_in(tag.text) | ids_in(workload.tags.get(WAIVER_TAG, "") if workload else "")
        if not own and not named and not self.filed:
            return findings
        standings = (*self.filed, *own)
        outcome = apply(findings, subject, standings, named)
        self._count(own, subject, named, outcome.findings, codes)
        where = subject.resource or f"{subject.file}:{subject.path}:{subject.workload}"
        passed = [
            one
            for one in standings
            if one.state is State.EXPIRED and covers(one.waiver, subject, named)
        ]
        facts = Facts(
            invalid=self._first((one for one in own if one.faults), where),
            expired=self._first(passed, where),
            strangers=strangers(named, subject, standings),
            waived=outcome.waived,
        )
        is_open = not tag.known and any(one.waiver.is_for_tags for one in standings)
        unknown = (f"tags.{WAIVER_TAG}",) if is_open else ()
        return (*outcome.findings, *self._say(subject, facts, unknown))

    def accepts(self, finding: Finding, workload: Workload | None, tag: Value = ABSENT) -> bool:
        """Tell whether a finding is accepted, without remembering that it was asked."""
        subject = finding.subject
        named = ids_in(tag.text) | ids_in(workload.tags.get(WAIVER_TAG, "") if workload else "")
        standings = (*self.filed, *self._own(workload, subject))
        return bool(apply([finding], subject, standings, named).waived) or self.known.has(finding)

    def of_settings(self) -> tuple[Finding, ...]:
        """Tell of the waivers in the settings that are invalid, once in a run."""
        wrong = [one for one in self.filed if one.faults]
        return tuple(
            found for one in wrong for found in self._say(one.waiver.place, Facts(invalid=(one,)))
        )

    def of_unknown(self, subject: Subject, properties: tuple[str, ...]) -> tuple[Finding, ...]:
        """Tell what is not known of a resource, in one finding."""
        return self._say(subject, NOTHING, properties)

    def unused(self) -> tuple[Finding, ...]:
        """Tell of the waivers that accepted nothing, at the end of a run."""
        left = [one for one in self.tallies if one.is_unused]
        return tuple(found for one in left for found in self._say_unused(one.standing))

    def outdated(self, sources: Iterable[str]) -> tuple[Finding, ...]:
        """Tell of the baseline what is gone and what got worse, at the end of a run.

        `sources` are the files, or the stack, that were judged as a whole.
        """
        if not self.known.is_used:
            return ()
        worse = tuple(self.known.worse.values())
        facts = Facts(gone=self.known.gone(sources), worse=worse)
        return self._say(Subject("", file=str(self.context.baseline.file or "")), facts)

    def _say_unused(self, standing: Standing) -> tuple[Finding, ...]:
        return self._say(standing.waiver.place, Facts(unused=(standing,)))

    def _stand(self, waivers: tuple[Waiver, ...]) -> tuple[Standing, ...]:
        most = self.context.settings.resolving.max_waiver_days
        own = self.context.settings.custom.rules
        return stand(waivers, self.context.today, most, own)

    def _own(self, workload: Workload | None, subject: Subject) -> tuple[Standing, ...]:
        if workload is None or not workload.waivers:
            return ()
        return self._stand(of_workload(workload, subject))

    def _count(
        self,
        own: tuple[Standing, ...],
        subject: Subject,
        named: frozenset[str],
        findings: tuple[Finding, ...],
        codes: frozenset[str],
    ) -> None:
        """Remember of each waiver for a subject whether its rule was asked, and spoke."""
        doubtful = any(finding.code == CANNOT_EVALUATE for finding in findings)
        places = [("", one) for one in self.filed] + [(subject.workload, one) for one in own]
        for holder, one in places:
            if not covers(one.waiver, subject, named):
                continue
            key = _key(holder, one)
            tally = self._tallies.setdefault(key, Tally(one))
            self._tallies[key] = tally._replace(
                asked=tally.asked or one.code in codes,
                open=tally.open or doubtful,
                accepted=tally.accepted + sum(found.code == one.code for found in findings),
            )

    def _first(self, standings: Iterable[Standing], where: str) -> tuple[Standing, ...]:
        """Keep those that were not spoken of elsewhere."""
        return tuple(
            one
            for one in standings
            if self._told.setdefault((one.state.value, one.waiver.label), where) == where
        )

    def _say(
        self, subject: Subject, facts: Facts, unknown: tuple[str, ...] = ()
    ) -> tuple[Finding, ...]:
        if facts == NOTHING and not unknown:
            return ()
        context = self.context
        case = Case(
            subject.workload,
            None,
            catalog=context.catalog,
            today=context.today,
            settings=context.settings,
            subject=subject,
            unknown=unknown,
            waivers=facts,
        )
        return evaluate(case, context.settings, SPEAKING)


NOTHING = Facts()
SPEAKING = tuple(rule for rule in RULES if rule.needs in (Needs.NOTHING, Needs.WAIVER))
"""Rules that have something to say where no work is judged."""


def _key(holder: str, standing: Standing) -> tuple[str, Waiver]:
    return (holder, standing.waiver._replace(place=NOWHERE))


NOWHERE = Subject("")


def of_workload(workload: Workload, subject: Subject) -> tuple[Waiver, ...]:
    """Return the waivers that stand on a workload: they are for it and nothing else."""
    return tuple(
        Waiver(
            id=entry.id or "",
            rule=entry.rule,
            workload=subject.workload,
            reason=entry.reason,
            owner=entry.owner,
            expires=entry.expires,
            evidence=entry.evidence or "",
            place=subject,
        )
        for entry in workload.waivers
    )
