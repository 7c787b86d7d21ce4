"""Reads the engine's wire format of properties, as little of it as a question needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpusize.tokens import WAIVER_LABEL, WORKLOAD_LABEL, WORKLOAD_TAG
from gpusize_policies.reading import SENTINELS
from gpusize_policies.reading.kubernetes.pods import MARKS as DEVICE_MARKS

if TYPE_CHECKING:
    from google.protobuf.struct_pb2 import Struct
    from google.protobuf.struct_pb2 import Value as Wire

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"
"""Key that marks a special object, and the mark of a secret (pulumi's properties.go)."""

WITH_TAGS = (
    "tags",
    "tagsAll",
    "tagSpecifications",
    "launchSpecifications",
    "resourceTags",
    "computeResources",
)
"""Properties that tags stand in: of a resource, and of the machines that it launches."""
ACCELERATED = re.compile(r"(?:gr?|p|trn|inf|dl)\d")
"""Families of EC2 with accelerators by their first letters (EC2 instance types, naming)."""
SPECIFICATIONS = "launchSpecifications"
"""Where a spot fleet describes what it launches."""
BY_ATTRIBUTES = "instanceRequirements"
"""Property that picks types by what they have, whatever the type beside it is."""
STARTING = ("userData", "userDataBase64")
"""Properties whose text says what a machine starts."""
CONTAINERS = (
    "containerDefinitions",
    "containerProperties",
    "nodeProperties",
    "ecsProperties",
    "eksProperties",
    "primaryContainer",
    "containers",
)
"""Properties that hold containers: of ECS, of Batch, of SageMaker."""

POINTING = SENTINELS | {WORKLOAD_TAG}
"""Keys of a group's tags that name the workload, or may."""

NAMING = ("instancetype", "instancetypes", "instancefamily")
"""Ends of the keys under which types and families are named, in small letters."""
DOCUMENTS = frozenset({"pipelineDefinition"})
"""Keys of texts that name types somewhere inside."""
ATTRIBUTES = "accelerator"
"""Beginning of the keys by which a type is asked for by what it has."""


def decode(properties: Struct) -> dict[str, Any]:
    """Read all properties: plain values, secrets bare, unknown values as their sentinels."""
    return {key: _value(value) for key, value in properties.fields.items()}


def _value(value: Wire) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        fields = decode(value.struct_value)
        return fields.get("value") if fields.get(SIGNATURE) == SECRET else fields
    if kind == "list_value":
        return [_value(item) for item in value.list_value.values]
    return None if kind is None or kind == "null_value" else getattr(value, kind)


def may_point(properties: Struct) -> bool:
    """Tell whether a resource may carry the tag that names its workload: without decoding it.

    A tag set that is not known may; so may anything of a shape that is not the usual one.
    """
    fields = properties.fields
    return any(key in fields and _may_hold(fields[key]) for key in WITH_TAGS)


def _may_hold(value: Wire) -> bool:
    kind = value.WhichOneof("kind")
    if kind == "list_value":
        return any(_may_hold(item) for item in value.list_value.values)
    if kind == "struct_value":
        fields = value.struct_value.fields
        if WORKLOAD_TAG in fields or SIGNATURE in fields:
            return True
        if "key" in fields:
            return fields["key"].string_value in POINTING
        return "tags" in fields and _may_hold(fields["tags"])
    return kind == "string_value"


def may_start(properties: Struct) -> bool:
    """Tell whether a resource may start a known engine on an accelerated type: without decoding it.

    A type that is not known or not said may be one; so may a text that is not known. Containers
    start it wherever they are placed.
    """
    fields = properties.fields
    if any(key in fields and _holds_launch(fields[key]) for key in CONTAINERS):
        return True
    if SPECIFICATIONS in fields:
        listed = fields[SPECIFICATIONS].list_value.values
        return any(may_start(one.struct_value) for one in listed)
    texts = [key for key in STARTING if key in fields]
    if not texts:
        return False
    kind = text_of(properties, "instanceType")
    is_plain = isinstance(kind, str) and kind not in SENTINELS and not ACCELERATED.match(kind)
    if is_plain and BY_ATTRIBUTES not in fields:
        return False
    return any(_may_start(_value(fields[key])) for key in texts)


def _may_start(text: Any) -> bool:
    from gpusize_policies.launched.texts import unpacked
    from gpusize_policies.reading.launches import may_start as is_telling

    return isinstance(text, str) and (text in SENTINELS or is_telling(unpacked(text)))


def _holds_launch(value: Wire) -> bool:
    """Tell whether a text below a value may start something known, by a name or by itself."""
    from gpusize_policies.reading.launches import may_start as is_telling

    kind = value.WhichOneof("kind")
    if kind == "list_value":
        return any(_holds_launch(item) for item in value.list_value.values)
    if kind == "struct_value":
        fields = value.struct_value.fields
        return any(is_telling(key) or _holds_launch(one) for key, one in fields.items())
    text = value.string_value if kind == "string_value" else ""
    return text in SENTINELS or is_telling(text)


def may_select(properties: Struct, knows: Callable[[str], bool]) -> bool:
    """Tell whether a resource may select a type with accelerators, by name or by attribute.

    `knows` tells it of a text. Only texts under keys that name types are looked at.
    """
    return any(_selects(key, value, knows) for key, value in properties.fields.items())


def _selects(key: str, value: Wire, knows: Callable[[str], bool]) -> bool:
    if key.startswith(ATTRIBUTES) or key in DOCUMENTS:
        return True
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return may_select(value.struct_value, knows)
    if kind == "list_value":
        return any(_selects(key, item, knows) for item in value.list_value.values)
    return kind == "string_value" and key.lower().endswith(NAMING) and knows(value.string_value)


MARKS = tuple(
    one.encode() for one in (*sorted(SENTINELS), *DEVICE_MARKS, WORKLOAD_LABEL, WAIVER_LABEL)
)
"""What the bytes of a pod hold that asks for a device or points at a workload, or may."""


def may_ask(properties: Struct) -> bool:
    """Tell whether a pod may ask for a device or point at a workload: without decoding it."""
    raw = properties.SerializeToString()
    return any(mark in raw for mark in MARKS)


def text_of(properties: Struct, key: str) -> Any:
    """Read one property, None when it is not there."""
    fields = properties.fields
    return _value(fields[key]) if key in fields else None
