"""Does every type that AWS may pick do the work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gpusize_policies.finding import Number, Severity
from gpusize_policies.message import Doubt, Remark
from gpusize_policies.rule import Needs, Waivable, rule

if TYPE_CHECKING:
    from gpusize.constraints.reason import Reason
    from gpusize.resolving.listed import Survey
    from gpusize_catalog.store import Catalog
    from gpusize_policies.case import Case
    from gpusize_policies.reading.requirements import Admitted

SHOWN = 4
"""Instance types or patterns that one sentence names."""


class _Asking(NamedTuple):
    """What admits types, and how to list those that do."""

    what: str
    fix: str


REQUIREMENTS = _Asking("instance requirements", "allowedInstanceTypes")
LABELS = _Asking("requirements of the nodes", "node.kubernetes.io/instance-type In")

UNNAMED = "a listed type"
"""What is not in the catalog: its name may be anything, so it is not repeated."""


@rule(
    "GPU311",
    "heterogeneous-override-unfit",
    Severity.ERROR,
    since="0.1",
    needs=Needs.RESOURCE,
    waivable=Waivable.EVIDENCE,
)
def heterogeneous_override_unfit(case: Case) -> Iterator[Remark | Doubt]:
    """Some of the types that a group or a fleet lists do not do the work.

    Why: AWS launches whichever of them is to be had. Instances of the others run out of memory, or
        cannot run the model at all, and are replaced by more of them.
    Fix: list only types that the finding names as those that do the work, or give the smaller ones
        a workload of their own.
    Limits: each type is judged in the layout that suits it best; parallel sizes that are declared
        hold for all. Where only the first type is listed, other rules judge it.
    Sources:
        https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-mixed-instances-groups.html,
        https://github.com/kubeai-project/kubeai/issues/393
    """
    selection, survey = case.selection, case.survey
    assert selection is not None
    unknown = selection.doubts("types", "more_types")
    if unknown:
        yield Doubt(unknown)
    if survey is None:
        return
    given: Admitted | None = selection.admitted.value
    admitted = given.types if given else ()
    named = [name for name in selection.types.value if name not in admitted]
    unfit = [name for name in named if name in survey.failing]
    judged = case.candidate.instance.id if case.candidate else ""
    if all(name == judged for name in unfit):
        return
    passing = survey.best(named)
    yield Remark(
        f"{len(unfit)} of {len(named)} listed types cannot run it: {_blamed(case, survey, unfit)}",
        (f"list only {_some(passing)}",) if passing else _cheapest(case),
        {
            "listedTypes": len(named),
            "unfitTypes": len(unfit),
            "passingTypes": ", ".join(passing),
        },
    )


@rule(
    "GPU312",
    "attribute-selection-too-loose",
    Severity.ERROR,
    since="0.1",
    needs=Needs.RESOURCE,
    waivable=Waivable.EVIDENCE,
)
def attribute_selection_too_loose(case: Case) -> Iterator[Remark | Doubt]:
    """Instance requirements, or labels that nodes must have, admit types that do not do the work.

    Why: AWS picks by attributes, and the cheapest type that has them is seldom the one that was
        meant. Memory is asked for all accelerators together, so that four of 24 GB pass where two
        of 48 were meant; and without a manufacturer and a name other makers' accelerators pass.
    Fix: give `allowedInstanceTypes` as the finding prints them; for nodes of Karpenter ask for the
        label `node.kubernetes.io/instance-type`, in the NodePool or on the pod.
    Limits: an attribute that the catalog does not know of a type counts as met, and is named.
        Price protection is not counted, for it moves with the prices.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceRequirements.html,
        https://github.com/kubeai-project/kubeai/issues/393
    """
    selection = case.selection
    assert selection is not None
    if not selection.requirements.known:
        yield Doubt(selection.doubts("requirements"))
    given: Admitted | None = selection.admitted.value
    if given is None:
        return
    if not given.types:
        yield Remark(
            "the instance requirements admit no accelerated type that AWS sells there",
            _cheapest(case),
            {"admittedTypes": 0},
        )
        return
    if case.survey is not None:
        yield from _loose(case, given, case.survey)


def _loose(case: Case, given: Admitted, survey: Survey) -> Iterator[Remark]:
    """Say what else the attributes admit."""
    unfit = [name for name in given.types if name in survey.failing]
    passing = survey.best(given.types)
    allowed = passing if given.by_labels else _patterns(case.catalog, given.types, passing)
    asking = LABELS if given.by_labels else REQUIREMENTS
    numbers: dict[str, Number] = {
        "admittedTypes": len(given.types),
        "unfitTypes": len(unfit),
        "allowedInstanceTypes": ", ".join(allowed),
    }
    shown = _some(allowed) if given.by_labels else f"[{', '.join(allowed)}]"
    listed = f"{asking.fix}: {shown}"
    fixes = (listed,) if allowed else _cheapest(case)
    if unfit:
        sure = [name for name in unfit if name not in given.doubtful]
        verb = "admit" if sure else "may admit"
        of = f"{len(unfit)} of {len(given.types)} types that they {verb} cannot run it"
        doubt = "" if sure else f" (the catalog has no {given.undecided[0]})"
        yield Remark(
            f"the {asking.what} are loose: {of}{doubt}: {_blamed(case, survey, sure or unfit)}",
            fixes,
            numbers,
        )
    elif given.bare:
        yield Remark(
            "the instance requirements admit types without an accelerator too",
            ("acceleratorCount: {min: 1}", *fixes),
            numbers,
        )


def _blamed(case: Case, survey: Survey, unfit: Sequence[str]) -> str:
    """Name some types, and what is wrong with the first."""
    first: Reason = survey.failing[unfit[0]]
    names = [name if case.catalog.find_instance(name) else UNNAMED for name in unfit]
    others = f"; also {_some(names[1:])}" if names[1:] else ""
    return f"{names[0]} ({first.text}){others}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _cheapest(case: Case) -> tuple[str, ...]:
    """The type that gpusize would take, where there is one."""
    return (f"take {case.cheapest.instance_type}",) if case.cheapest else ()


def _patterns(catalog: Catalog, admitted: Sequence[str], passing: Sequence[str]) -> tuple[str, ...]:
    """Write types as patterns: a family whole where all of it that is admitted passes."""
    family = {name: catalog.instance(name).family for name in admitted}
    partly = {family[name] for name in admitted if name not in passing}
    found = (name if family[name] in partly else f"{family[name]}.*" for name in passing)
    return tuple(dict.fromkeys(found))
