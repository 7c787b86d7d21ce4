"""Rules about the judging itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_policies.finding import Severity
from gpusize_policies.message import Doubt, Remark
from gpusize_policies.reading import Role
from gpusize_policies.reading.selection import KEEPING
from gpusize_policies.rule import Needs, Waivable, rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case


@rule(
    "GPU900",
    "cannot-evaluate",
    Severity.ADVICE,
    since="0.1",
    needs=Needs.NOTHING,
    waivable=Waivable.NO,
    parameters=("unknowns",),
)
def cannot_evaluate(case: Case) -> Iterator[Remark | Doubt]:
    """Something that the rules need is not known, so they were not asked.

    Why: before an update some values of a program are not computed yet. One summary says which,
        in place of a pass that means nothing.
    Fix: give the value as a plain one, or set `unknowns: error` where an unknown value must stop
        the preview.
    Limits: undeclared machines whose user data or containers are not known yet are told together.
    Sources: https://github.com/pulumi/pulumi/issues/19737
    """
    if case.unknown:
        yield Doubt(case.unknown)
    if case.missing:
        yield Remark(case.missing.message, (case.missing.fix,))
    if case.workload is not None and case.resolution is None:
        for problem in case.problems:
            yield Remark(problem.message, (problem.fix,) if problem.fix else ())


ROLES = {
    Role.MACHINE: "launches",
    Role.TEMPLATE: "describes",
    Role.RESERVATION: "keeps",
    Role.BLOCK: "keeps",
    Role.HOST: "keeps",
    Role.TASK: "runs on",
}
"""What a resource does with a type, in a verb."""
SHOWN_TYPES = 3


@rule("GPU901", "undeclared-gpu", Severity.ADVICE, since="0.1", needs=Needs.MACHINE)
def undeclared_gpu(case: Case) -> Iterator[Remark | Doubt]:
    """A resource selects a type with GPUs, and no declared workload owns it.

    Why: what nobody declares nobody can judge: whether it fits, what it costs in a month, and who
        needs it.
    Fix: declare what runs there as a `GpuWorkload` or in `gpusize.yaml`, and tag the resource
        `gpusize:workload=<name>`.
    Limits: advice until `requireDeclaration: true` makes it an error; silent where the machine's
        own texts say what it starts.
    Sources: `requireDeclaration` of the settings file.
    """
    machine = case.machine
    if machine is None or machine.is_owned or machine.is_inferred:
        return
    if not machine.tags.is_whole:
        yield Doubt(("tags",))
        return
    named = ", ".join(machine.types[:SHOWN_TYPES])
    more = len(machine.types) - SHOWN_TYPES
    yield Remark(
        f"{ROLES[machine.role]} {named}{f' and {more} more' if more > 0 else ''}, and no declared"
        " workload owns it",
        ("declare what runs there, and tag it gpusize:workload=<name>",),
        {"instanceType": machine.types[0], "types": len(machine.types)},
    )


@rule(
    "GPU902",
    "declared-and-deployed-differ",
    Severity.ERROR,
    since="0.1",
    needs=Needs.RESOURCE,
)
def declared_and_deployed_differ(case: Case) -> Iterator[Remark | Doubt]:
    """A resource runs its workload on another type, or buys, places, counts or starts it otherwise.

    Why: the declaration was sized and judged; what runs is something else.
    Fix: take the values from the outputs of the `GpuWorkload`, or change the declaration.
    Limits: compared with what is declared, decided by a component, or kept by the lock; a field
        that is open in all of them may be anything. Of what user data and commands start, the
        options that are read (docs/inference.md) count: sizes below the declared ones pass.
    Sources: the declaration and the resource, side by side.
    """
    from gpusize_policies.differences import differences, says_replicas

    selection, decided = case.selection, case.decided
    if selection is None or decided is None or selection.role in KEEPING:
        return
    found = tuple(differences(case, selection, decided.pins))
    if found:
        yield Remark(
            "; ".join(one.text for one in found),
            ("take them from the outputs of the GpuWorkload, or change the declaration",),
            {"differences": len(found), **{one.key: one.deployed for one in found}},
        )
    unknown = selection.doubts("least", "most") if says_replicas(case) else ()
    if not case.provenance.text:
        unknown += selection.doubts("launches")
    if unknown:
        yield Doubt(unknown)


@rule(
    "GPU913",
    "public-gpu-endpoint",
    Severity.ADVICE,
    since="0.1",
    needs=Needs.MACHINE,
    is_off=True,
)
def public_gpu_endpoint(case: Case) -> Iterator[Remark | Doubt]:
    """A machine with a GPU gets a public address.

    Why: inference servers answer whoever reaches them, most of them without asking who it is.
    Fix: put it into a private subnet behind a load balancer.
    Limits: off until the settings give it a level, for general policy packs have such a rule; only
        by what the resource or its template says, not by what its subnet does.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-instance-addressing.html
    """
    machine = case.machine
    if machine is None:
        return
    if not machine.public.known:
        yield Doubt(("associatePublicIpAddress",))
    elif machine.public.value:
        yield Remark(
            f"{machine.types[0]} gets a public address",
            ("a private subnet behind a load balancer",),
            {"instanceType": machine.types[0]},
        )
