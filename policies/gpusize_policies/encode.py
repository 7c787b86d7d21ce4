"""Changes properties in the engine's wire format where they stand.

What is not changed stays as it came: secrets stay marked, unknown values stay unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct
from google.protobuf.struct_pb2 import Value as Wire

from gpusize_policies.decode import SECRET, SIGNATURE

if TYPE_CHECKING:
    from gpusize_policies.remedies import Change


def changed(properties: Struct, changes: Iterable[Change]) -> Struct | None:
    """Return a copy with all changes; None where one has no place, which is then not guessed."""
    root = Wire()
    root.struct_value.CopyFrom(properties)
    done = [_change(root, list(one.path), one) for one in changes]
    return root.struct_value if done and all(done) else None


def _change(holder: Wire, path: list[str | int], change: Change) -> bool:
    """Go down to what holds the last key; lists and mappings that are not there are made."""
    key, *rest = path
    holder = _bare(holder)
    if not rest and change.value is None:
        return _remove(holder, key)
    place = _place(holder, key)
    if place is None:
        return False
    if rest:
        _make(place, rest[0])
        return _change(place, rest, change)
    json_format.ParseDict(change.value, _bare(place))
    return True


def _bare(value: Wire) -> Wire:
    """Look into a secret, which stays one."""
    while value.WhichOneof("kind") == "struct_value":
        fields = value.struct_value.fields
        if SIGNATURE not in fields or fields[SIGNATURE].string_value != SECRET:
            break
        value = fields["value"]
    return value


def _place(holder: Wire, key: str | int) -> Wire | None:
    """Return what a key or an index stands for, new where it is none yet."""
    kind = holder.WhichOneof("kind")
    if kind == "struct_value" and isinstance(key, str):
        fields = holder.struct_value.fields
        return None if SIGNATURE in fields else fields[key]
    if kind == "list_value" and isinstance(key, int):
        values = holder.list_value.values
        return values[key] if key < len(values) else values.add() if key == len(values) else None
    return None


def _make(place: Wire, key: str | int) -> None:
    """Make what is not there yet what a key or an index can stand in."""
    if place.WhichOneof("kind") in (None, "null_value"):
        if isinstance(key, str):
            place.struct_value.SetInParent()
        else:
            place.list_value.SetInParent()


def _remove(holder: Wire, key: str | int) -> bool:
    if holder.WhichOneof("kind") != "struct_value" or not isinstance(key, str):
        return False
    fields = holder.struct_value.fields
    if SIGNATURE in fields or key not in fields:
        return False
    del fields[key]
    return True
