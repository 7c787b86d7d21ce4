"""What a rule changes where it runs at level `remediate`: one obvious fix, as property changes.

A remedy is a pure function of a case that its rule speaks on and of the resource as it arrived. It
gives no change where the fix is not obvious: the finding is then a violation like any other. What
it would change stands in the docs of the rule, so each has a docstring for users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize_policies.reading import GROUP, INSTANCE, LAUNCH_TEMPLATE
from gpusize_policies.reading.instances import ROOT_DEVICES
from gpusize_policies.reading.tags import INSTANCE as OF_INSTANCES
from gpusize_policies.reading.tags import LAUNCHED
from gpusize_policies.reading.values import ABSENT, Props

if TYPE_CHECKING:
    from gpusize_policies.case import Case

MARKET = "instanceMarketOptions"
INTERFACES = "networkInterfaces"
MAPPINGS = "blockDeviceMappings"
DECIDES_MARKET = (MARKET, "launchTemplate", "capacityReservationSpecification", "hostId")
"""Properties of an instance that say how its capacity is bought, or may say it."""


class Resource(NamedTuple):
    """A resource as it arrived."""

    type: str
    props: Props


class Change(NamedTuple):
    """One property with its new value; None takes it out."""

    path: tuple[str | int, ...]
    value: Any = None

    @property
    def words(self) -> str:
        """Say it in a message; values are those of gpusize or of the settings."""
        path = ""
        for key in self.path:
            path += f"[{key}]" if isinstance(key, int) else f".{key}" if path else key
        return f"{path} is removed" if self.value is None else f"{path} is {self.value}"


Remedy = Callable[["Case", Resource], Iterable[Change]]


def to_on_demand(_case: Case, resource: Resource) -> Iterator[Change]:
    """`instanceMarketOptions` of an instance or of a launch template goes where it says spot."""
    market = resource.props.get(f"{MARKET}.marketType")
    if resource.type in (INSTANCE, LAUNCH_TEMPLATE) and market.text == "spot":
        yield Change((MARKET,))


def to_spot(_case: Case, resource: Resource) -> Iterator[Change]:
    """An instance that says nothing of how it is bought gets `instanceMarketOptions` for spot."""
    said = (resource.props.get(name) for name in DECIDES_MARKET)
    if resource.type == INSTANCE and all(one == ABSENT for one in said):
        yield Change((MARKET,), {"marketType": "spot"})


def add_tags(case: Case, resource: Resource) -> Iterator[Change]:
    """Missing tags for which the settings have a value (`team.defaultTags`) are added.

    Instances get them in `tags`, launch templates among the tags of the instances that they launch,
    Auto Scaling groups as tags that instances inherit.
    """
    team, machine = case.settings.team, case.machine
    if machine is None:
        return
    missing = machine.tags.missing(team.required_tags)
    tags = {key: team.default_tags[key] for key in missing if key in team.default_tags}
    place = _PLACES.get(resource.type)
    if tags and place is not None:
        yield from place(resource.props, tags)


def _on_instance(props: Props, tags: dict[str, str]) -> Iterator[Change]:
    if props.get("tags").known:
        yield from (Change(("tags", key), value) for key, value in tags.items())


def _in_template(props: Props, tags: dict[str, str]) -> Iterator[Change]:
    listed, is_whole = props.items(LAUNCHED)
    kinds = [Props(one.value).get("resourceType") for one in listed]
    if not is_whole or not all(kind.known for kind in kinds):
        return
    for index, kind in enumerate(kinds):
        if kind.text == OF_INSTANCES:
            yield from (Change((LAUNCHED, index, "tags", key), one) for key, one in tags.items())
            return
    yield Change((LAUNCHED, len(listed)), {"resourceType": OF_INSTANCES, "tags": tags})


def _in_group(props: Props, tags: dict[str, str]) -> Iterator[Change]:
    count = props.length("tags")
    if not count.known:
        return
    for index, (key, value) in enumerate(tags.items(), count.value or 0):
        yield Change(("tags", index), {"key": key, "value": value, "propagateAtLaunch": True})


_PLACES: dict[str, Callable[[Props, dict[str, str]], Iterator[Change]]] = {
    INSTANCE: _on_instance,
    LAUNCH_TEMPLATE: _in_template,
    GROUP: _in_group,
}


def with_efa(case: Case, resource: Resource) -> Iterator[Change]:
    """Each network card that a launch template describes gets `interfaceType: efa`.

    Where the template describes no interfaces nothing is changed: they need subnets or security
    groups that gpusize does not know.
    """
    listed, is_whole = resource.props.items(INTERFACES)
    if resource.type != LAUNCH_TEMPLATE or not is_whole or case.candidate is None:
        return
    most = case.candidate.instance.efa_interfaces or 1
    cards: dict[object, int] = {}
    for index, one in enumerate(listed):
        reader = Props(one.value)
        card, kind = reader.get("networkCardIndex"), reader.get("interfaceType")
        if reader.get("networkInterfaceId") != ABSENT or not (card.known and kind.known):
            return
        if kind.text in ("", "interface"):
            cards.setdefault(card.value or 0, index)
    for index in list(cards.values())[:most]:
        yield Change((INTERFACES, index, "interfaceType"), "efa")


def larger_root(case: Case, resource: Resource) -> Iterator[Change]:
    """The root volume of an instance or of a launch template gets the size in the finding's fix."""
    from gpusize.volumes import contents_of, recommended_gib

    candidate = case.candidate
    path = _root_size(resource)
    if candidate is not None and path is not None:
        size = recommended_gib(candidate.workload.storage, contents_of(candidate))
        yield Change(path, size)


def _root_size(resource: Resource) -> tuple[str | int, ...] | None:
    """Find the size of the root volume, where the resource says one."""
    if resource.type == INSTANCE:
        said = resource.props.get("rootBlockDevice.volumeSize").says
        return ("rootBlockDevice", "volumeSize") if said else None
    if resource.type != LAUNCH_TEMPLATE:
        return None
    listed, _ = resource.props.items(MAPPINGS)
    for index, one in enumerate(listed):
        reader = Props(one.value if one.known else None)
        if reader.get("deviceName").text in ROOT_DEVICES:
            said = reader.get("ebs.volumeSize").says
            return (MAPPINGS, index, "ebs", "volumeSize") if said else None
    return None
