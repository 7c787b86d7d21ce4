"""Reads the engine's wire format of properties, as little of it as a question needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusize.tokens import WORKLOAD_TAG
from gpusize_policies.reading import SENTINELS

if TYPE_CHECKING:
    from google.protobuf.struct_pb2 import Struct
    from google.protobuf.struct_pb2 import Value as Wire

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"
"""Key that marks a special object, and the mark of a secret (pulumi's properties.go)."""

WITH_TAGS = ("tags", "tagsAll", "tagSpecifications", "resourceTags", "computeResources")
"""Properties that tags stand in: of a resource, and of the machines that it launches."""
POINTING = SENTINELS | {WORKLOAD_TAG}
"""Keys of a group's tags that name the workload, or may."""


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


def text_of(properties: Struct, key: str) -> Any:
    """Read one property, None when it is not there."""
    fields = properties.fields
    return _value(fields[key]) if key in fields else None
