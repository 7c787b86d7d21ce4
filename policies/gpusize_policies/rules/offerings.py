"""Does AWS offer it there, at what price, and by which catalog."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_catalog.problems import printable
from gpusize_policies.finding import Number, Severity
from gpusize_policies.fixes import plain, wrapped
from gpusize_policies.message import Remark
from gpusize_policies.rule import Needs, Waivable, rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case

LONGEST_TYPE_NAME = 32
"""Characters of an instance type that a message repeats; the longest real one has 20."""

NOT_SOLD = ("retired-instance", "instance-not-offered-in-region", "on-demand-not-sold")
"""What explains a missing price."""


@rule("GPU801", "instance-not-offered-in-region", Severity.ERROR, since="0.1")
def instance_not_offered_in_region(case: Case) -> Iterator[Remark]:
    """The instance type is not offered in the region.

    Why: a launch fails there, after the program has built everything around it.
    Fix: take a region that offers the type, or the type that the finding names.
    Limits: only where AWS says so; a region that the catalog does not know is GPU812. Silent
        where GPU803 fires: a retired type is offered nowhere. What services that sell instances at
        their own prices offer (SageMaker, GameLift), the catalog does not know.
    Sources: `aws ec2 describe-instance-type-offerings`
    """
    if not case.reasons("retired-instance") and not case.seller:
        yield from wrapped(case, "instance-not-offered-in-region")


@rule("GPU802", "quota-likely-zero", Severity.ADVICE, since="0.1", needs=Needs.WORKLOAD)
def quota_likely_zero(case: Case) -> Iterator[Remark]:
    """The account may not run as many of these instances as the work takes at most.

    Why: AWS counts the vCPUs of each group of families, on demand and spot apart, and new accounts
        begin at or near zero for those with GPUs. A launch above the quota fails.
    Fix: ask for the quota that the finding names, or tell the settings which one you have.
    Limits: only for quotas that the settings give (`quotas`), by code or as a `default` for all
        others. Capacity blocks and reservations of another account count elsewhere.
    Sources: https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
    """
    candidate, quotas = case.candidate, case.settings.quotas
    if candidate is None or not quotas:
        return
    placement, market = candidate.placement, candidate.placement.market.value
    code = candidate.instance.quota_spot if market == "spot" else candidate.instance.quota_on_demand
    limit = quotas.get(code, quotas.get(EVERY_QUOTA))
    if market == "capacity-block" or not code or limit is None or not candidate.instance.vcpus:
        return
    machines = placement.nodes * max(1, candidate.demand.replicas_max)
    needed = machines * candidate.instance.vcpus
    if needed <= limit:
        return
    yield Remark(
        f"{machines} x {candidate.instance.id} take {needed} vCPUs {_bought(market)} at most, quota"
        f" {code} is {limit:g}",
        (f"ask for {needed} vCPUs (Service Quotas, {code})",),
        {"quotaCode": code, "vcpusNeeded": needed, "vcpusAllowed": limit},
    )


EVERY_QUOTA = "default"
"""Name under which the settings give the quota of all codes that they do not name."""


def _bought(market: str) -> str:
    return "on spot" if market == "spot" else market.replace("-", " ")


@rule("GPU803", "retired-instance", Severity.ERROR, since="0.1")
def retired_instance(case: Case) -> Iterator[Remark]:
    """AWS no longer offers the instance type.

    Why: retired types stay in price lists and in the enumerations of SDKs, and no launch succeeds.
    Fix: take the type that the finding names.
    Sources: the catalog's `instances` table, column status_note
    """
    return wrapped(case, "retired-instance")


@rule(
    "GPU805",
    "price-dominated-choice",
    Severity.WARN,
    since="0.1",
    parameters=("minPriceAdvantage",),
)
def price_dominated_choice(case: Case) -> Iterator[Remark]:
    """Another instance type does the same work as well, for less.

    Why: a type is often copied from another service, or was the cheapest once. The finding names
        one that is offered in the region, holds the work, takes no more GPUs or nodes and is no
        slower.
    Fix: take the type that the finding names. Where the pinned one has what the declaration does
        not say (host memory, local disks, network), declare that or waive the rule.
    Limits: by the declared duration and market; with declared targets of latency a slower type that
        meets them counts as no slower; work that ends is compared on the same GPU alone, for what
        another takes to the end is an estimate. Silent on what gpusize chose, where another rule
        speaks against the placement, and where a time or a price is not known.
    Sources: the plans of `gpusize resolve FILE`, with their prices and dates
    """
    if _is_fine_by_itself(case) and not case.reasons("idle-gpus-on-node"):
        yield from plain(case, "price-dominated-choice")


@rule("GPU804", "previous-generation", Severity.WARN, since="0.1")
def previous_generation(case: Case) -> Iterator[Remark]:
    """A newer GPU has no less memory and bandwidth, and costs no more.

    Why: types are copied from program to program long after their successors are there. Newer GPUs
        compute in formats that older ones do not, and AWS retires old types.
    Fix: take the type that the finding names.
    Limits: computed from the catalog for the declared region and market, never from names of
        families; newer is a higher compute capability. Silent on what gpusize chose, where another
        rule speaks against the placement, and where GPU805 names the same type.
    Sources: the catalog's `gpus` and `prices` tables
    """
    if not _is_fine_by_itself(case) or case.reasons("idle-gpus-on-node"):
        return
    cheaper = {reason.fix for reason in case.reasons("price-dominated-choice")}
    if not cheaper.intersection(reason.fix for reason in case.reasons("previous-generation")):
        yield from plain(case, "previous-generation")


def _is_fine_by_itself(case: Case) -> bool:
    """Whether somebody chose the type, and nothing but another type speaks against it."""
    from gpusize.resolving.weighing import reasons_against

    chosen = case.candidate is not None and not case.is_own_choice
    return chosen and case.candidate is not None and not reasons_against(case.candidate)


@rule("GPU806", "price-unknown", Severity.ADVICE, since="0.1", parameters=("maxSpotAgeDays",))
def price_unknown(case: Case) -> Iterator[Remark]:
    """The catalog has no dated price for what was chosen.

    Why: rules about money are silent without a price, and a missing price is never taken as zero.
    Fix: add the price to a catalog overlay, with its date and source.
    Limits: silent where the type is not sold there at all: GPU518, GPU801 or GPU803 say so. Prices
        of services that sell instances at their own (SageMaker, GameLift) are always unknown.
    Sources: the catalog's `prices` table
    """
    if case.seller:
        yield Remark(
            f"{case.seller} has prices of its own, which the catalog does not hold: those of EC2"
            " are not taken for them",
            (f"look them up on the price page of {case.seller}",),
        )
    elif not any(case.reasons(name) for name in NOT_SOLD):
        yield from plain(case, "price-unknown", "add it to a catalog overlay, dated")


@rule(
    "GPU807",
    "price-stale",
    Severity.ADVICE,
    since="0.1",
    needs=Needs.WORKLOAD,
    waivable=Waivable.NO,
    parameters=("maxPriceAgeDays",),
    once=True,
)
def price_stale(case: Case) -> Iterator[Remark]:
    """The prices of the catalog are old, or older than a known change.

    Why: AWS changes list prices without notice: those of P4 and P5 fell by up to 44 % in June
        2025. What was the cheapest then may not be now.
    Fix: install a newer gpusize, or add dated prices to a catalog overlay.
    Limits: judged by the newest price of the whole catalog, and told once in a run.
    Sources: https://aws.amazon.com/blogs/aws/announcing-up-to-45-price-reduction-for-amazon-ec2-nvidia-gpu-accelerated-instances/
    """
    from gpusize.days import day_of

    newest = case.catalog.newest_price()
    day = day_of(newest)
    if day is None:
        return
    age, limit = (case.today - day).days, case.settings.resolving.max_price_age_days
    change = case.catalog.newest_price_change(case.today.isoformat())
    numbers: dict[str, Number] = {"newestPrice": newest, "ageDays": age}
    fix = ("install a newer gpusize, or add dated prices to a catalog overlay",)
    if age > limit:
        text = f"the newest price of the catalog is of {newest}, {age} days old, limit {limit}"
        yield Remark(text, fix, numbers)
    elif change is not None and change.date > newest:
        text = f"{change.instance_type} has another price since {change.date}"
        yield Remark(f"{text}, the newest price of the catalog is of {newest}", fix, numbers)


@rule(
    "GPU808",
    "catalog-conflict",
    Severity.ADVICE,
    since="0.1",
    needs=Needs.NOTHING,
    once=True,
)
def catalog_conflict(case: Case) -> Iterator[Remark]:
    """A catalog overlay says something else than the shipped catalog, by more than 5 %.

    Why: a corrected figure is what you want, a slip of a digit is not: nominal memory in place of
        what CUDA reports, GB in place of GiB. Whatever is sized with it is wrong by as much.
    Fix: correct the overlay, or keep it and send the source upstream.
    Limits: figures alone, of rows that both have; prices differ by contract and are not compared.
        Told once in a run, the largest first.
    Sources: the overlay's own `source` column
    """
    from gpusize_catalog.conflicts import conflicts

    found = conflicts(case.catalog)
    if not found:
        return
    worst = found[0]
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    yield Remark(
        f"{worst.table} {worst.row}: {worst.column} is {worst.given:g} in an overlay,"
        f" {worst.shipped:g} in the catalog{more}",
        ("correct the overlay, or keep it with its source",),
        {"conflicts": len(found), "overlay": worst.given, "catalog": worst.shipped},
    )


@rule(
    "GPU809",
    "unknown-instance-type",
    Severity.ERROR,
    since="0.1",
    needs=Needs.WORKLOAD,
    waivable=Waivable.NO,
)
def unknown_instance_type(case: Case) -> Iterator[Remark]:
    """The instance type is not in the catalog.

    Why: it is misspelt, or newer than the catalog; either way nothing about it can be checked.
    Fix: take the spelling that the finding suggests, or describe the type in a catalog overlay.
    Sources: `gpusize catalog search WORDS`
    """
    judged = case.judged
    wanted = judged.instance_type if judged else None
    if wanted is None or case.catalog.find_instance(wanted) is not None:
        return
    close = case.catalog.suggest("instances", wanted)
    fixes = [f"did you mean {' or '.join(close[:2])}?"] if close else []
    fixes.append("describe it in a catalog overlay (`--catalog DIR`)")
    shown = printable(wanted, LONGEST_TYPE_NAME) if _looks_like_a_type(wanted) else "a value"
    yield Remark(f"{shown} is no instance type of the catalog", tuple(fixes))


TYPE = re.compile(r"[a-z]{1,4}\d[a-z0-9-]{0,10}\.\d{0,3}[a-z]{2,8}(?:-\d{1,3}[a-z]{1,3})?")
"""What the name of a type looks like, misspelt or new: `u7i-12tb.224xlarge`, `c5.metal-24xl`."""


def _looks_like_a_type(text: str) -> bool:
    """Tell what may be repeated: anything else may be a secret in the wrong place."""
    return TYPE.fullmatch(text) is not None


@rule("GPU810", "decision-drift", Severity.ADVICE, since="0.1", needs=Needs.DECISION)
def decision_drift(case: Case) -> Iterator[Remark]:
    """What was decided before differs from what would be decided now.

    Why: a decision stays when the catalog moves on, so that a preview shows no surprise; you
        should know when a better one exists.
    Fix: run `gpusize lock FILE` and review the difference.
    Sources: `gpusize.lock` beside the program
    """
    from gpusize.lock import drift

    fresh = case.fresh
    if fresh is None or case.lock is None:
        return
    for reason in drift(fresh, case.lock):
        yield Remark(reason.text, (reason.fix,), dict(reason.numbers))


@rule("GPU811", "catalog-mismatch", Severity.ADVICE, since="0.1", needs=Needs.DECISION)
def catalog_mismatch(case: Case) -> Iterator[Remark]:
    """The component and the judge used different catalogs.

    Why: prices and offerings may differ, so a finding here may not be what the component saw.
    Fix: install the same version of gpusize for the plugin and the policy pack, with the same
        overlays.
    Sources: `catalogVersion` and `catalogDigest` of the component's outputs
    """
    decided = case.decided
    if decided is None or not decided.catalog_digest:
        return
    if decided.catalog_digest == case.catalog.digest:
        return
    yield Remark(
        f"decided with catalog {decided.catalog_version or 'of unknown date'}"
        f" ({decided.catalog_digest}), judged with {case.catalog.version} ({case.catalog.digest})",
        ("install the same gpusize and overlays for the plugin and the pack",),
        {"decidedCatalog": decided.catalog_version, "judgedCatalog": case.catalog.version},
    )


@rule("GPU812", "availability-unknown", Severity.ADVICE, since="0.1")
def availability_unknown(case: Case) -> Iterator[Remark]:
    """The catalog does not know whether the type is offered there in that market.

    Why: a row that is missing is not a statement that AWS does not sell it.
    Fix: check the offering in your account, and add it to a catalog overlay.
    Sources: the catalog's `offerings` and `prices` tables
    """
    if not case.seller:
        fix = "check it in your account, then add it to an overlay"
        yield from plain(case, "availability-unknown", fix)
