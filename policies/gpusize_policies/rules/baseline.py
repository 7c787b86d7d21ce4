"""Rules on the baseline: what was there before, and what of it is gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_catalog.problems import printable
from gpusize_policies.finding import Severity
from gpusize_policies.message import LONGEST_NAME, Remark, judgement_of
from gpusize_policies.rule import Needs, Waivable, rule

if TYPE_CHECKING:
    from gpusize_policies.baseline import Entry
    from gpusize_policies.case import Case

SHOWN = 4
"""Entries or findings that one message names."""
IN_WORDS = {Severity.ERROR: "an error", Severity.WARN: "a warning", Severity.ADVICE: "advice"}


@rule(
    "GPU921",
    "baseline-finding",
    Severity.ADVICE,
    since="0.1",
    needs=Needs.WAIVER,
    waivable=Waivable.NO,
)
def baseline_finding(case: Case) -> Iterator[Remark]:
    """A finding is in the baseline: it was there before, stays visible, and fails nothing.

    Why: a team that turns the rules on in a stack that runs cannot mend everything at once. What
        was there is written down, so that only what is new fails; it is still so.
    Fix: mend what the rule tells of and write the baseline anew; where a finding is right as it is
        say so by a waiver, with a reason and a day.
    Limits: the policy pack reports such a finding under this rule alone; the command shows it,
        marked, beside it.
    Sources: https://eslint.org/docs/latest/use/suppressions,
        https://detekt.dev/docs/introduction/baseline/
    """
    assert case.waivers is not None  # rules that need a waiver are asked where there is one
    for one in case.waivers.known:
        yield Remark(
            f"in the baseline: {one.code} {one.name}: {judgement_of(one)}",
            numbers={"rule": one.code, "severity": one.severity.value},
        )


@rule(
    "GPU922",
    "baseline-outdated",
    Severity.ADVICE,
    since="0.1",
    needs=Needs.WAIVER,
    waivable=Waivable.NO,
)
def baseline_outdated(case: Case) -> Iterator[Remark]:
    """Entries of the baseline match nothing any more, or accept a milder finding than there is.

    Why: an entry that is left over accepts the same finding when it comes back. One of a warning
        that has become an error accepts it no longer, and the finding fails.
    Fix: write the baseline anew, which drops what is gone; or delete the entries.
    Limits: an entry is told where the rule was asked about what it is on and is silent, or where
        that is no longer in the file or the stack it was found in. What a run does not judge, such
        as other files, it says nothing of.
    Sources: https://eslint.org/docs/latest/use/suppressions
    """
    assert case.waivers is not None  # rules that need a waiver are asked where there is one
    gone, worse = case.waivers.gone, case.waivers.worse
    if gone:
        count = f"{len(gone)} {'entry matches' if len(gone) == 1 else 'entries match'}"
        yield Remark(
            f"{count} nothing any more: {_listed([_name(one) for one in gone])}",
            ("write the baseline anew, or delete them",),
            {"entries": len(gone)},
        )
    for one in worse:
        yield Remark(
            f"{_name(one.entry)} was {IN_WORDS[one.entry.severity]} in the baseline and is"
            f" {IN_WORDS[one.severity]} now: it counts as new",
            ("mend what the rule tells of", "write the baseline anew"),
            {"rule": one.entry.key.code, "severity": one.severity.value},
        )


def _name(entry: Entry) -> str:
    return f"{entry.key.code} of {printable(entry.key.target.words, LONGEST_NAME)}"


def _listed(names: list[str]) -> str:
    shown = list(dict.fromkeys(names))
    more = len(shown) - SHOWN
    return ", ".join(shown[:SHOWN]) + (f" and {more} more" if more > 0 else "")
