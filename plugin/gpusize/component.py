"""The Pulumi component: a declared workload, sized, with what EC2 needs to run it.

AWS resources are registered by their type tokens: importing the aws SDK costs a second and 124 MB,
and nothing here needs its classes (docs/adr/0002).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pulumi

from gpusize.args import DeclarationArgs
from gpusize.decision import Decision, decide, model_problems
from gpusize.environments import Where
from gpusize.inputs import Given, combine, separate
from gpusize.launch import needs
from gpusize.making import make
from gpusize.names import to_snake
from gpusize.project import project_folder
from gpusize.schema import ANSWERS, RESOURCES
from gpusize.surroundings import Surroundings, stack_values, surroundings, unknown_keys
from gpusize.tokens import COMPONENT, PACKAGE
from gpusize.workload import Workload, parse_workload
from gpusize_catalog.problems import GpuSizeError, Problem


class WorkloadError(pulumi.RunError):
    """A workload that cannot be used: every problem at once, printed without a traceback."""

    def __init__(self, name: str, summary: str, problems: Sequence[Problem]) -> None:
        """Keep the problems; the text names the workload and lists them all."""
        self.summary = f"workload '{name}' {summary}"
        self.problems = tuple(problems)
        lines = (f"  - {problem}" for problem in self.problems)
        super().__init__("\n".join([f"{self.summary}:", *lines]))


class GpuWorkloadArgs(DeclarationArgs, total=False):
    """A declaration with the wiring of what is made for it."""

    image_id: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    vpc_id: pulumi.Input[str]
    security_group_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    placement_group: pulumi.Input[str]
    capacity_block_offering_id: pulumi.Input[str]
    iam_instance_profile: pulumi.Input[str]
    key_name: pulumi.Input[str]
    user_data: pulumi.Input[str]
    root_device_name: pulumi.Input[str]
    create_instance: bool
    create_group: bool
    allow_misfit: bool
    group_types: int
    idle_cpu_percent: float


class GpuWorkload(pulumi.ComponentResource):
    """A GPU workload on AWS: declared by what runs, decided to an instance type and a market.

    What is not known (a price that nobody published, a plan where nothing fits) is None.
    """

    instance_type: pulumi.Output[str | None]
    nodes: pulumi.Output[int | None]
    ultraserver: pulumi.Output[str | None]
    gpus: pulumi.Output[int | None]
    layout: pulumi.Output[Mapping[str, int] | None]
    region: pulumi.Output[str]
    zones: pulumi.Output[Sequence[str] | None]
    market: pulumi.Output[str | None]
    scaling: pulumi.Output[str | None]
    hourly_cost: pulumi.Output[float | None]
    """USD per hour of all replicas."""
    monthly_cost: pulumi.Output[float | None]
    """USD per month."""
    run_cost: pulumi.Output[float | None]
    """USD per run of bounded work."""
    price_date: pulumi.Output[str | None]
    root_volume_gib: pulumi.Output[int | None]
    root_volume_throughput_mbps: pulumi.Output[float | None]
    load_seconds: pulumi.Output[float | None]
    instance_store_gib: pulumi.Output[int | None]
    efa_interfaces: pulumi.Output[int | None]
    fit: pulumi.Output[Mapping[str, Any] | None]
    fits: pulumi.Output[bool]
    locked: pulumi.Output[bool]
    reasons: pulumi.Output[Sequence[str]]
    version: pulumi.Output[str]
    catalog_version: pulumi.Output[str]
    catalog_digest: pulumi.Output[str]
    launch_template_id: pulumi.Output[str | None]
    instance_ids: pulumi.Output[Sequence[str]]
    group_name: pulumi.Output[str | None]
    group_instance_types: pulumi.Output[Sequence[str] | None]
    placement_group_name: pulumi.Output[str | None]
    security_group_id: pulumi.Output[str | None]
    capacity_reservation_id: pulumi.Output[str | None]
    alarm_names: pulumi.Output[Sequence[str] | None]

    def __init__(
        self,
        name: str,
        args: GpuWorkloadArgs | Mapping[str, Any],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Decide, then register; raises `WorkloadError` before anything is registered.

        `args` may be any mapping with the keys of `GpuWorkloadArgs`, in snake_case or camelCase.
        """
        given, decision = _decide(name, args)
        answers = decision.answers
        if not (decision.fits or given.allow_misfit or pulumi.runtime.is_dry_run()):
            raise _misfit(decision)
        problems = needs.problems(decision, given)
        if problems:
            raise WorkloadError(name, "cannot be made", problems)
        declared = decision.declaration
        # Policies see these as the inputs of the component: what was declared, and the decision.
        super().__init__(COMPONENT, name, {**declared, "decision": answers}, opts)
        _tell(self, decision, given)
        self.state: dict[str, Any] = {**answers, **make(self, name, decision, given)}
        """What the component answers, camelCase, as the schema has it."""
        for field in (*ANSWERS, *RESOURCES):
            setattr(self, to_snake(field), pulumi.Output.from_input(self.state.get(field)))
        if "instanceIds" not in self.state:
            self.instance_ids = pulumi.Output.from_input([])
        # At the end of a run policies see outputs alone, so the declaration stands there too.
        self.register_outputs({**self.state, "declaration": declared})


def is_deferred(value: object) -> bool:
    """Tell a value that only the engine knows, or that is secret."""
    return (
        isinstance(value, (pulumi.Output, pulumi.output.Unknown))
        or pulumi.runtime.rpc.is_rpc_secret(value)
        or hasattr(value, "__await__")
    )


def read(name: str, args: object, around: Surroundings) -> tuple[Given, Workload]:
    """Tell the inputs apart and parse the declaration; raises `WorkloadError` with all problems."""
    from gpusize_catalog.store import load

    catalog = load(around.overlays)
    given, found = separate(args, is_deferred)
    try:
        workload = parse_workload(given.declaration, catalog=catalog)
    except GpuSizeError as error:
        problems = combine(found, error.problems)
    else:
        if not found:
            return given, workload
        problems = found
    told = {problem.path for problem in problems}
    if "model" not in told:
        problems = (*problems, *model_problems(given.declaration, around))
    raise WorkloadError(name, "is not usable", problems)


def _decide(name: str, args: object) -> tuple[Given, Decision]:
    config = pulumi.runtime.config
    held = config.CONFIG.get()
    stack = stack_values(pulumi.Config(PACKAGE).get, config.get_config_env(), held)
    for problem in unknown_keys(stack, pulumi.get_project()):
        pulumi.log.warn(f"workload '{name}': {problem}")
    try:
        where = Where(pulumi.get_stack())
        around = surroundings(project_folder(Path.cwd()), stack, where)
        given, workload = read(name, args, around)
        return given, decide(name, workload, around)
    except GpuSizeError as error:
        raise WorkloadError(name, "cannot be decided", error.problems) from None


def _misfit(decision: Decision) -> WorkloadError:
    reasons = decision.against or ["no reason is known"]
    problems = [Problem("", reason) for reason in reasons]
    hint = "change the declaration, or set `allowMisfit: true`"
    problems.append(Problem("", "nothing was made of it", hint))
    changes = "; or ".join(decision.changes)
    summary = f"does not fit; would fit: {changes}" if changes else "does not fit"
    return WorkloadError(decision.name, summary, problems)


def _tell(component: GpuWorkload, decision: Decision, given: Given) -> None:
    """Warn of a placement that gpusize would not choose; say what is held back or not made."""
    if decision.resolution.plan is None:
        poor = "is pinned to what gpusize would not choose" if decision.fits else "does not fit"
        reasons = "; ".join(decision.answers["reasons"])
        pulumi.log.warn(f"workload '{decision.name}' {poor}: {reasons}", component)
    for remark in (*decision.remarks, *needs.remarks(decision, given)):
        pulumi.log.info(f"workload '{decision.name}': {remark}", component)
