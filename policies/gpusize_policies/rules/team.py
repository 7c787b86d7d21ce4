"""Does it keep to what the team allows: types, regions, markets, models, formats and approvals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_policies.finding import Severity
from gpusize_policies.fixes import plain, wrapped
from gpusize_policies.message import Doubt, Remark
from gpusize_policies.remedies import add_tags
from gpusize_policies.rule import Needs, rule

if TYPE_CHECKING:
    from gpusize.team import TeamRules
    from gpusize_policies.case import Case
    from gpusize_policies.deployed import Machine

MACHINE = (Needs.MACHINE,)


def _team(case: Case) -> TeamRules:
    return case.settings.team


def _bare(case: Case) -> Machine | None:
    """The machine of a case, where no workload stands behind it."""
    return None if case.machine is None or case.machine.is_owned else case.machine


@rule(
    "GPU903",
    "missing-required-tags",
    Severity.WARN,
    since="0.1",
    needs=Needs.MACHINE,
    remedy=add_tags,
)
def missing_required_tags(case: Case) -> Iterator[Remark | Doubt]:
    """A machine with a GPU lacks a tag that the team requires.

    Why: a bill that nobody can be asked about is paid until somebody looks for its owner.
    Fix: set the tags on the workload, the resource, its launch template, or as `defaultTags` of
        the provider.
    Limits: tags of a group count where instances inherit them; values are not looked at.
    Sources: https://docs.aws.amazon.com/whitepapers/latest/tagging-best-practices
    """
    machine, required = case.machine, _team(case).required_tags
    if machine is None or not required:
        return
    missing = machine.tags.missing(required)
    if missing and not machine.tags.is_whole:
        yield Doubt(("tags",))
    elif missing:
        named = ", ".join(missing)
        what = "tag" if len(missing) == 1 else "tags"
        yield Remark(
            f"{machine.types[0]} lacks the {what} {named}, which the team requires",
            (f"add {named} to its tags, or to defaultTags of the provider",),
            {"missingTags": len(missing), "requiredTags": len(required)},
        )


@rule("GPU904", "type-not-allowed", Severity.ERROR, since="0.1", beside=MACHINE)
def type_not_allowed(case: Case) -> Iterator[Remark]:
    """The instance type is none that the team allows.

    Why: a team keeps to some types for their quota, their price, or the images that it has for
        them.
    Fix: take the allowed type that the finding names; where nothing is pinned gpusize chooses
        among the allowed ones by itself.
    Limits: of a machine that no workload owns nobody knows what it holds: the types named for it
        have as many GPUs of as much memory.
    Sources: `team.allowTypes` and `team.denyTypes` of the settings file.
    """
    from gpusize.constraints.team import why_not_type
    from gpusize_policies.equivalents import equivalents

    if case.candidate is not None:
        yield from wrapped(case, "type-not-allowed", "instance_type")
    machine, team = case.machine, _team(case)
    if machine is None:
        return
    judged = case.candidate.instance.id if case.candidate else ""
    if machine.is_owned and not judged:
        return
    for name in machine.types:
        text = why_not_type(team, name)
        if text and name != judged:
            others = equivalents(name, machine.region, case)
            fix = f"of as many GPUs with as much memory {' or '.join(others)} are allowed"
            most = "no type with as many GPUs of as much memory is allowed"
            yield Remark(text, (fix if others else most,), {"instanceType": name})
            return


@rule("GPU914", "region-not-allowed", Severity.ERROR, since="0.1", beside=MACHINE)
def region_not_allowed(case: Case) -> Iterator[Remark]:
    """It lies in a region that the team does not use.

    Why: data may not leave some regions, and quota and reservations lie in few.
    Fix: declare one of the allowed regions.
    Limits: a machine whose region nothing says is not judged.
    Sources: `team.allowRegions` of the settings file.
    """
    from gpusize.constraints.team import shown, why_not_region

    yield from plain(case, "region-not-allowed")
    machine, team = _bare(case), _team(case)
    if machine is not None and machine.region:
        text = why_not_region(team, machine.region)
        if text:
            fix = f"region: one of {shown(team.allow_regions)}"
            yield Remark(text, (fix,), {"region": machine.region})


@rule("GPU915", "market-not-allowed", Severity.ERROR, since="0.1", beside=MACHINE)
def market_not_allowed(case: Case) -> Iterator[Remark | Doubt]:
    """It is bought in a way that the team does not use.

    Why: some teams may not run on capacity that is taken back, others pay nothing but spot for
        what is not production.
    Fix: take one of the allowed markets, or leave `market` open: gpusize buys in no other.
    Sources: `team.allowMarkets` of the settings file.
    """
    from gpusize.constraints.team import why_not_market

    if case.candidate is not None:
        yield from wrapped(case, "market-not-allowed", "market")
    machine, team = _bare(case), _team(case)
    if machine is None or not team.allow_markets or not machine.runs:
        return
    if not machine.market:
        yield Doubt(("instanceMarketOptions.marketType",))
        return
    text = why_not_market(team, machine.market)
    if text:
        fix = f"market: {' or '.join(team.allow_markets)}"
        yield Remark(text, (fix,), {"market": machine.market})


@rule("GPU916", "model-not-allowed", Severity.ERROR, since="0.1")
def model_not_allowed(case: Case) -> Iterator[Remark]:
    """The model is none that the team allows.

    Why: licences, origins and reviews of models differ, and a review is of one model.
    Fix: take an allowed model, or have this one allowed.
    Limits: a model that is given by its architecture alone goes by the name that it is given.
    Sources: `team.allowModels` and `team.denyModels` of the settings file.
    """
    return plain(case, "model-not-allowed")


@rule("GPU917", "format-not-allowed", Severity.ERROR, since="0.1")
def format_not_allowed(case: Case) -> Iterator[Remark]:
    """The weights are loaded in a format that the team does not allow.

    Why: what a model is worth was measured in one precision; another one is another model.
    Fix: declare one of the allowed formats as `weightsFormat`.
    Limits: where none is declared it is the one that the model is published in.
    Sources: `team.allowFormats` of the settings file.
    """
    return plain(case, "format-not-allowed")


@rule("GPU918", "nvlink-approval-missing", Severity.ERROR, since="0.1", beside=MACHINE)
def nvlink_approval_missing(case: Case) -> Iterator[Remark]:
    """The node's GPUs are joined by NVLink, and nobody approved it for this work.

    Why: NVLink nodes are the dearest and the scarcest; a team asks who decided that they are
        needed.
    Fix: add an approval with its day to `team.approveNvlink`, or leave the type open: gpusize
        chooses no such node without one.
    Limits: the approval of a machine that no workload owns goes by the name of the resource.
    Sources: `team.approveNvlink` of the settings file.
    """
    from gpusize.constraints.team import NVLINK

    if case.candidate is not None:
        yield from wrapped(case, "nvlink-approval-missing", "instance_type")
    machine, team = _bare(case), _team(case)
    if machine is None or team.approve_nvlink is None:
        return
    if team.approval_of(machine.name, case.today) is not None:
        return
    for name in machine.types:
        if case.catalog.instance(name).interconnect in NVLINK:
            yield Remark(
                f"{name} is an NVLink node, which needs an approval, and there is none",
                ("add {workload, by, until} to team.approveNvlink, or declare what it runs",),
                {"instanceType": name},
            )
            return
