"""Rules on waivers: what is accepted, and what no longer is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.days import days
from gpusize_policies.finding import Severity
from gpusize_policies.message import Remark, judgement_of
from gpusize_policies.rule import Needs, Waivable, rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case
    from gpusize_policies.waivers import Facts, Standing


@rule(
    "GPU905",
    "waiver-expired",
    Severity.ERROR,
    since="0.1",
    needs=Needs.WAIVER,
    waivable=Waivable.NO,
)
def waiver_expired(case: Case) -> Iterator[Remark]:
    """A waiver is past its last day, and what it accepted is a finding again.

    Why: an exception was granted until a day. Kept for longer it is a rule that is switched off,
        which nobody decided.
    Fix: mend what the waived rule tells of, and delete the waiver; or let its owner renew it with a
        new `expires`.
    Limits: it is told where what the waiver is for is judged: a settings file that several stacks
        share does not stop those that the waiver does not concern. `gpusize waivers` lists all.
    Sources: https://github.com/glsec/glsec/pull/424,
        https://github.com/StackGuardian/tirith/issues/329
    """
    for one in _facts(case).expired:
        ago = -(one.days_left or 0)
        yield Remark(
            f"the waiver {_name(one)} expired on {one.waiver.expires}, {days(ago)} ago",
            ("mend what it accepted and delete it", "let its owner renew it"),
            {"daysSinceExpiry": ago},
        )


@rule(
    "GPU906",
    "waiver-unused",
    Severity.ADVICE,
    since="0.1",
    needs=Needs.WAIVER,
    waivable=Waivable.NO,
)
def waiver_unused(case: Case) -> Iterator[Remark]:
    """A waiver accepts nothing: its rule was asked about what it is for, and is silent.

    Why: a waiver that is left over accepts the next finding of its rule too, which nobody has seen.
    Fix: delete it.
    Limits: it is told of a waiver whose workload or resource was judged by its rule in the same
        run, at the end of it, and had nothing unknown. A waiver for what a run does not judge
        (another stack, a file that was not given, a raw resource in `gpusize check`) is not told:
        it may be used there, and expires.
    Sources: https://github.com/etiennebacher/jarl/issues/294
    """
    for one in _facts(case).unused:
        yield Remark(f"the waiver {_name(one)} accepts nothing: the rule is silent", ("delete it",))


@rule(
    "GPU907",
    "waiver-invalid",
    Severity.ERROR,
    since="0.1",
    needs=Needs.WAIVER,
    waivable=Waivable.NO,
    parameters=("maxWaiverDays",),
)
def waiver_invalid(case: Case) -> Iterator[Remark]:
    """A waiver, or a tag that refers to one, is not as it must be, so it waives nothing.

    Why: a typo must not switch a rule off. A waiver says why, who answers for it and until when;
        one for physics says what was measured.
    Fix: give the rule, a reason of at least 15 characters, the owner and a last day that is not too
        far ahead; evidence where the page of the rule asks for it; and one workload or resource, or
        an id for tags.
    Limits: on a workload the declaration itself refuses a waiver without reason, owner or a day.
    Sources: https://github.com/glsec/glsec/pull/424, cdk-nag's mandatory reasons
    """
    for one in _facts(case).invalid:
        faults = "; ".join(fault.text for fault in one.faults)
        yield Remark(
            f"the waiver {_name(one)} waives nothing: {faults}",
            tuple(fault.fix for fault in one.faults),
            {"faults": len(one.faults)},
        )
    for stranger in _facts(case).strangers:
        yield Remark(
            f"the tag gpusize:waiver names {stranger.id}: {stranger.told}", (stranger.fix,)
        )


@rule(
    "GPU919",
    "waived-finding",
    Severity.ADVICE,
    since="0.1",
    needs=Needs.WAIVER,
    waivable=Waivable.NO,
)
def waived_finding(case: Case) -> Iterator[Remark]:
    """A finding is accepted by a waiver: it stays visible, and fails nothing.

    Why: what is accepted is still so. A reviewer sees it with the waiver that accepts it and the
        days that are left.
    Fix: mend what the waived rule tells of before the waiver ends, then delete the waiver.
    Limits: the policy pack reports a waived finding under this rule alone; the command shows the
        finding as waived beside it. A team that takes no waivers sets its level to `error`.
    Sources: https://github.com/StackGuardian/tirith/issues/329
    """
    for one, finding in _facts(case).waived:
        left = one.days_left or 0
        yield Remark(
            f"waived by {one.waiver.label} until {one.waiver.expires} ({days(left)} left):"
            f" {finding.code} {finding.name}: {judgement_of(finding)}",
            numbers={"daysLeft": left, "rule": finding.code, "severity": finding.severity.value},
        )


def _facts(case: Case) -> Facts:
    assert case.waivers is not None  # rules that need a waiver are asked where there is one
    return case.waivers


def _name(standing: Standing) -> str:
    """The waiver and its rule, once where the one names the other."""
    label, accepted = standing.waiver.label, standing.rule
    if accepted is None or label.startswith(f"{accepted.code}@"):
        return label
    return f"{label} of {accepted.code} {accepted.name}"
