"""Registers the AWS resources of a decided workload; what they are is told in `gpusize.launch`.

Resources are registered by their type tokens: importing the aws SDK costs a second and 124 MB,
and nothing here needs its classes (docs/adr/0002).
"""

import base64
from collections.abc import Sequence
from typing import Any

import pulumi

from gpusize.decision import Decision
from gpusize.inputs import Given
from gpusize.launch import capacity, group, network, schedule, stop, template
from gpusize.launch.common import Properties, Wires, nodes

AWS_VERSION = "7.51.1"
"""The aws provider asked for where the program has no aws SDK of its own."""
AWS_MAJOR = "7."
"""Since this version every aws resource names its region."""


def make(
    parent: pulumi.Resource, name: str, decision: Decision, given: Given
) -> dict[str, pulumi.Input[Any]]:
    """Register everything that the workload needs; without a type there is nothing to.

    Returns the outputs of what was made, in camelCase.
    """
    if decision.plan is None:
        return {}
    return _Maker(parent, name, decision, given).outputs


class _Maker:
    """Registers in the order in which one resource needs another."""

    def __init__(
        self, parent: pulumi.Resource, name: str, decision: Decision, given: Given
    ) -> None:
        self.parent = parent
        self.name = name
        self.decision = decision
        self.given = given
        self.wiring = given.wiring
        self.outputs: dict[str, pulumi.Input[Any]] = {}
        around = template.Around(
            placement_group=self._placement_group(),
            groups=self._security_groups(),
            reservation=self._reservation(),
            for_group=given.create_group,
        )
        described = template.launch_template(decision, self.wiring, around, WIRES)
        made = self._register(template.LAUNCH_TEMPLATE, "", described, "latestVersion")
        self.outputs["launchTemplateId"] = made.id
        version = _output(made, "latestVersion").apply(_version)
        if given.create_instance:
            self._instances(made.id, version)
        if given.create_group:
            self._group(made.id, version)

    def _register(
        self,
        token: str,
        suffix: str,
        properties: Properties,
        *outputs: str,
        ignore: Sequence[str] = (),
    ) -> pulumi.CustomResource:
        """Register a resource; `outputs` are read from it afterwards."""
        options = pulumi.ResourceOptions(
            parent=self.parent, version=_aws_version(), ignore_changes=list(ignore)
        )
        full = f"{self.name}-{suffix}" if suffix else self.name
        # A key without a value asks the SDK for the output of that name.
        return pulumi.CustomResource(token, full, {**properties, **dict.fromkeys(outputs)}, options)

    def _placement_group(self) -> Any:
        self._placement_arn: Any = None
        found = self.wiring.get("placementGroup")
        if network.wants_placement_group(self.decision, self.wiring):
            described = network.placement_group(self.decision)
            made = self._register(network.PLACEMENT_GROUP, "", described, "arn")
            self._placement_arn = _output(made, "arn")
            found = made.id
        if found is not None:
            self.outputs["placementGroupName"] = found
        return found

    def _security_groups(self) -> Any:
        given = self.wiring.get("securityGroupIds")
        if not network.wants_security_group(self.decision, self.wiring):
            return given
        described = network.security_group(self.decision, self.wiring)
        made = self._register(network.SECURITY_GROUP, "", described)
        for rule in network.rules(self.decision, self.wiring, made.id):
            self._register(rule.token, rule.suffix, rule.properties)
        self.outputs["securityGroupId"] = made.id
        return pulumi.Output.all(given, made.id).apply(lambda both: [*(both[0] or ()), both[1]])

    def _reservation(self) -> Any:
        workload, offering = self.decision.workload, self.wiring.get("capacityBlockOfferingId")
        found: Any = workload.capacity_reservation
        if workload.reserve is not None:
            described = capacity.reservation(self.decision, self._placement_arn)
            found = self._register(capacity.RESERVATION, "", described).id
        elif offering is not None:
            found = self._register(capacity.BLOCK, "", capacity.block(self.decision, offering)).id
        if found is not None:
            self.outputs["capacityReservationId"] = found
        return found

    def _instances(self, template_id: Any, version: Any) -> None:
        described = template.instance(self.decision, self.wiring, template_id, version, WIRES)
        made = [
            self._register(template.INSTANCE, str(index), described)
            for index in range(nodes(self.decision))
        ]
        self.outputs["instanceIds"] = pulumi.Output.all(*(one.id for one in made))
        threshold = self.given.idle_cpu_percent or stop.idle_percent(self.decision)
        if threshold is None or not stop.watches(self.decision):
            return
        alarms = [
            self._register(
                stop.ALARM, f"{index}-idle", stop.alarm(self.decision, one.id, threshold)
            )
            for index, one in enumerate(made)
        ]
        self.outputs["alarmNames"] = pulumi.Output.all(*(one.id for one in alarms))

    def _group(self, template_id: Any, version: Any) -> None:
        named = group.types(self.decision, self.given.group_types)
        described = group.group(self.decision, self.wiring, (template_id, version), named, WIRES)
        beats = schedule.beats_of(self.decision)
        # These sizes are the schedule's once it has begun.
        ignore = ("minSize", "desiredCapacity") if beats else ()
        made = self._register(group.GROUP, "", described, ignore=ignore)
        for beat in beats:
            action = schedule.schedule(self.decision, beat, made.id, group.sizes(self.decision))
            self._register(schedule.SCHEDULE, beat.name, action)
        self.outputs["groupName"] = made.id
        self.outputs["groupInstanceTypes"] = list(named)


def _encode(user_data: pulumi.Input[str]) -> pulumi.Output[str]:
    return pulumi.Output.from_input(user_data).apply(
        lambda text: base64.b64encode(text.encode()).decode()
    )


def _first(values: pulumi.Input[Sequence[pulumi.Input[str]]]) -> pulumi.Output[str]:
    return pulumi.Output.from_input(values).apply(lambda known: known[0])


WIRES = Wires(_encode, _first)


def _output(resource: pulumi.CustomResource, name: str) -> pulumi.Output[Any]:
    found: pulumi.Output[Any] = getattr(resource, name)
    return found


def _version(latest: object) -> str:
    """Write a launch template's version as an instance wants it: a number in a text."""
    return str(int(latest)) if isinstance(latest, (int, float)) else "$Latest"


def _aws_version() -> str:
    """Return the version of the program's own aws SDK, so that one provider serves both."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("pulumi_aws")
    except PackageNotFoundError:
        return AWS_VERSION
    return installed if installed.startswith(AWS_MAJOR) else AWS_VERSION
