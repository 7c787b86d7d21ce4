"""The tag of a resource that refers to waivers, wherever its type keeps tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpusize.tokens import WAIVER_LABEL, WAIVER_TAG
from gpusize_policies.reading.kubernetes.objects import reference
from gpusize_policies.reading.values import ABSENT, UNKNOWN, Props, Value, first, text


def waiver_tag(target: Any) -> Value:
    """Return the ids of waivers that a resource refers to, as they stand in its tag."""
    props = Props(target)
    specifications, complete = props.items("tagSpecifications")
    launched = [_tag(Props(one.value)) for one in specifications if one.known]
    noted = reference(WAIVER_LABEL, props)
    return first(_tag(props), *launched, noted, ABSENT if complete else UNKNOWN)


def _tag(props: Props) -> Value:
    """Read a mapping of tags, or a list of keys and values as groups have it."""
    found = props.get("tags")
    if not found.known or isinstance(found.value, Mapping):
        return text(Props(found.value).own(WAIVER_TAG)) if found.known else UNKNOWN
    tags, complete = props.items("tags")
    pairs = [Props(tag.value) for tag in tags if tag.known]
    values = [text(one.get("value")) for one in pairs if one.get("key").text == WAIVER_TAG]
    return first(*values, ABSENT if complete else UNKNOWN)
