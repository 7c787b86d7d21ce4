"""What must hold between fields that every kind has."""

from __future__ import annotations

from collections.abc import Iterator

from gpusize.declaring.relations.given import Given, Relation, is_region
from gpusize_catalog.problems import Problem

MAX_TAGS = 50
"""User tags on one resource. Source: Amazon EC2 user guide, tag restrictions."""


MAX_TAG_KEY = 128
"""Characters of a tag key. Source: as above."""


MAX_TAG_VALUE = 256
"""Characters of a tag value. Source: as above."""


ULTRASERVER = "u-"
"""How AWS begins the name of an UltraServer, which has no size. Source: catalog, UltraServers."""


def region_form(given: Given) -> Iterator[Problem]:
    """A region is written like us-east-1."""
    for path in ("region", "storage.weightsRegion"):
        region = given.text(path)
        if region is None or is_region(region):
            continue
        if region[-1:].isalpha() and is_region(region[:-1]):
            yield Problem(
                path, "is an availability zone", f"write {region[:-1]}; the zone goes into zone"
            )
        else:
            yield Problem(path, "is not an AWS region", "write it like us-east-1")


def zone_of_region(given: Given) -> Iterator[Problem]:
    """A zone lies in the declared region: us-east-1a, or a zone id like use1-az4."""
    zone, region = given.text("zone"), given.text("region")
    if zone is None or region is None or not is_region(region):
        return
    name, _, number = zone.rpartition("-az")
    is_id = bool(name) and number.isdigit() and name.isalnum()
    if is_id or (zone.startswith(region) and zone[len(region) :][-1:].isalpha()):
        return
    yield Problem("zone", f"is not a zone of {region}", f"write it like {region}a")


def instance_type_form(given: Given) -> Iterator[Problem]:
    """An instance type is written family.size; SageMaker's prefix is another product's."""
    name = given.text("instanceType")
    if name is None:
        return
    if name.startswith("ml."):
        yield Problem(
            "instanceType", "is a SageMaker name", f"write the EC2 instance type, {name[3:]}"
        )
        return
    family, _, size = name.partition(".")
    if name.startswith(ULTRASERVER) and not size:
        told = "write the instance type that it is made of, like p6e-gb200.36xlarge"
        yield Problem("instanceType", "is an UltraServer", told)
        return
    if not (family and size) or not name.replace(".", "").replace("-", "").isalnum():
        yield Problem("instanceType", "is not an instance type", "write it like g6e.xlarge")


def layout_on_nodes(given: Given) -> Iterator[Problem]:
    """Ranks spread evenly over the declared nodes, experts over the ranks of a stage."""
    sizes = [given.number(name) for name in ("tp", "pp", "dp")]
    shared = given.number("cp") or 1
    nodes, ep = given.number("nodesPerReplica"), given.number("ep")
    if nodes is not None and None not in sizes:
        ranks = int((sizes[0] or 1) * (sizes[1] or 1) * (sizes[2] or 1) * shared)
        if ranks % nodes:
            yield Problem(
                "nodesPerReplica",
                f"{ranks} ranks ({_of_stage(shared, ' x pp')}) do not spread evenly over"
                f" {nodes} nodes",
                "give a number of nodes that divides the ranks",
            )
    if ep is not None and sizes[0] is not None and sizes[2] is not None:
        stage = int(sizes[0] * sizes[2] * shared)
        if stage % ep:
            yield Problem(
                "ep",
                f"{ep} does not divide the {stage} ranks of a stage ({_of_stage(shared)})",
                f"give a divisor of {stage}",
            )


def _of_stage(shared: float, stages: str = "") -> str:
    """The sizes that make a stage, or a replica, in words."""
    return f"tp{stages} x dp x cp" if shared > 1 else f"tp{stages} x dp"


def tags_taken_by_aws(given: Given) -> Iterator[Problem]:
    """AWS limits number, length and prefix of tags."""
    tags = given.value("tags")
    if not isinstance(tags, dict):
        return
    if len(tags) > MAX_TAGS:
        yield Problem(
            "tags", f"{len(tags)} tags are more than AWS takes", f"keep at most {MAX_TAGS}"
        )
    for key, value in tags.items():
        path = f"tags.{key[:MAX_TAG_KEY]}"
        if not 0 < len(key) <= MAX_TAG_KEY:
            yield Problem(
                path, f"a tag's key has 1 to {MAX_TAG_KEY} characters", "choose another key"
            )
        if key.lower().startswith("aws:"):
            yield Problem(path, "aws: is AWS's own prefix", "choose another key")
        if isinstance(value, str) and len(value) > MAX_TAG_VALUE:
            yield Problem(
                path, f"a tag's value has at most {MAX_TAG_VALUE} characters", "shorten it"
            )


def waivers_end(given: Given) -> Iterator[Problem]:
    """A waiver ends on a day of the calendar."""
    from gpusize.days import DAY_FIX, NO_DAY, day_of

    waivers = given.value("waivers")
    for index, waiver in enumerate(waivers if isinstance(waivers, list) else ()):
        expires = waiver.get("expires") if isinstance(waiver, dict) else None
        if not isinstance(expires, str):
            continue
        if day_of(expires) is None:
            yield Problem(f"waivers[{index}].expires", NO_DAY, DAY_FIX)


COMMON: tuple[Relation, ...] = (
    region_form,
    zone_of_region,
    instance_type_form,
    layout_on_nodes,
    tags_taken_by_aws,
    waivers_end,
)
