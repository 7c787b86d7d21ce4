"""Reads of a resource's properties: known, absent or unknown, and none that raises.

What the engine gives are proxies: mappings that are no dict, numbers that are floats, and values
that raise when they are touched before they are known. All reads go through `Props`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gpusize.tokens import WORKLOAD_TAG

UNKNOWN_ERROR = "UnknownValueError"
"""Class of what Pulumi raises on a read of an unknown value (not imported: no pulumi here)."""

SENTINELS = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
"""What stands in the wire format for an unknown boolean, number, text, list, asset, archive or
object (pulumi-policy's proxy.py)."""

MOST = 10**6
"""Instances, GiB or MB/s above which a number is no count of anything here."""


class Value(NamedTuple):
    """One property: known with its value, known to be absent, or not known."""

    value: Any = None
    known: bool = True

    @property
    def text(self) -> str:
        """The value where it is known and text, else ''."""
        return self.value if self.known and isinstance(self.value, str) else ""

    @property
    def says(self) -> bool:
        """Whether there is a value, and it is known."""
        return self.known and self.value is not None


ABSENT = Value()
UNKNOWN = Value(known=False)
DEFERRED = Value("launchTemplate", known=False)
"""Not said by the resource itself, but perhaps by its launch template."""

ELSEWHERE = Value("elsewhere", known=False)
"""Said by another resource, which the stack may hold."""


class Props:
    """Properties of a resource; every read says known, absent or unknown, and none raises."""

    def __init__(self, target: Any) -> None:
        """Wrap a mapping, a proxy of one, or nothing."""
        self._target = target

    def get(self, path: str) -> Value:
        """Read `a.b[0].c`; lists of one block may be left out of the path, as AWS writes them."""
        value = Value(self._target)
        for key in path.split("."):
            value = _step(value, key)
            if not value.known or value.value is None:
                return value
        return value

    def own(self, key: Any) -> Value:
        """Read one key or index as it stands, whatever dots are in it."""
        return _item(self._target, key)

    def items(self, path: str) -> tuple[tuple[Value, ...], bool]:
        """Read a list: its items, and whether all of them are known."""
        found = self.get(path)
        if not found.known:
            return (), False
        if not _is_list(found.value):
            return (), True
        values = tuple(_item(found.value, index) for index in range(len(found.value)))
        return values, all(value.known for value in values)

    def length(self, path: str) -> Value:
        """Count the items of a list, known or not; absent where there is no list."""
        found = self.get(path)
        if not found.known:
            return UNKNOWN
        return Value(len(found.value)) if _is_list(found.value) else ABSENT


def _step(value: Value, key: str) -> Value:
    target = value.value
    if _is_list(target):
        head = _item(target, 0) if len(target) else ABSENT
        if not head.known:
            return UNKNOWN
        target = head.value
    return _item(target, key) if isinstance(target, Mapping) else ABSENT


def _item(target: Any, key: Any) -> Value:
    """Read one key; a missing one is absent, an unknown one raises in the proxy."""
    try:
        found = target[key]
    except (KeyError, IndexError, TypeError):
        return ABSENT
    except Exception as error:
        if type(error).__name__ == UNKNOWN_ERROR:
            return UNKNOWN
        raise
    if isinstance(found, str) and found in SENTINELS:
        return UNKNOWN
    return Value(found)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def first(*values: Value) -> Value:
    """Return the first value that is there or may be there."""
    return next((value for value in values if not value.known or value.value is not None), ABSENT)


def agreed(values: Iterable[Value]) -> Value:
    """Return what several places say alike; unknown where they differ."""
    found = tuple(dict.fromkeys(values))
    return found[0] if len(found) == 1 else UNKNOWN if found else ABSENT


def shaped(value: Value, has_shape: Callable[[str], bool]) -> Value:
    """Take a text of another shape for unknown: it may be anything, a secret too."""
    found = text(value)
    return UNKNOWN if found.text and not has_shape(found.text) else found


def text(value: Value) -> Value:
    """Take what should be a text and is none for unknown."""
    return value if not value.says or isinstance(value.value, str) else UNKNOWN


def amount(value: Value, most: float = MOST) -> Value:
    """Read a number, or a text that is one; anything else is unknown."""
    if not value.says or value.value == "":
        return value if not value.known else ABSENT
    try:
        number = None if isinstance(value.value, bool) else float(value.value)
    except (TypeError, ValueError):
        number = None
    return Value(number) if number is not None and 0 <= number <= most else UNKNOWN


def count(value: Value) -> Value:
    """Read a whole number of things; anything else is unknown."""
    found = amount(value)
    if not found.says:
        return found
    return Value(int(found.value)) if found.value.is_integer() else UNKNOWN


def present(*values: Value) -> Value:
    """Tell that one of some texts is there, without keeping which."""
    found = first(*values)
    if not found.known:
        return UNKNOWN
    return Value(True) if found.value not in (None, "") else ABSENT


def names_of(props: Props, path: str) -> Value:
    """Read a list of names, each once, in its order; absent where there is none."""
    items, complete = props.items(path)
    if not complete or not all(isinstance(item.value, str) for item in items):
        return UNKNOWN
    names = tuple(dict.fromkeys(item.value for item in items if item.value))
    return Value(names) if names else ABSENT


def tag_of(props: Props, path: str) -> Value:
    """Read the tag that names the workload; its name holds a colon, never a dot."""
    tags = props.get(path)
    if not tags.known:
        return UNKNOWN
    return text(_step(tags, WORKLOAD_TAG)) if isinstance(tags.value, Mapping) else ABSENT
