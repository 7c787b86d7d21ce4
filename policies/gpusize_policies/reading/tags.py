"""The tags of a resource and those that its machines get, however its type writes them.

AWS resources write tags as a mapping, as a list of keys and values, or per kind of what a template
launches. Values are kept for comparing only: no message repeats one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpusize.tokens import WAIVER_LABEL, WAIVER_TAG
from gpusize_policies.reading.kubernetes.objects import reference
from gpusize_policies.reading.values import ABSENT, UNKNOWN, Props, Value, first

PATHS = ("tags", "tagsAll")
LAUNCHED = "tagSpecifications"
INSTANCE = "instance"
"""Kind of resource whose tags in a launch template are those of the machines."""
DEFAULT_TAGS = "defaultTags"


class Tags(NamedTuple):
    """Tags as far as they are known; `is_whole` where there can be no others."""

    pairs: tuple[tuple[str, str | None], ...] = ()
    """Keys with their values, None where a value is not known."""
    is_whole: bool = True

    def value(self, key: str) -> Value:
        """Return what a tag says: absent where there is none, unknown where nobody can tell."""
        for name, value in self.pairs:
            if name == key:
                return UNKNOWN if value is None else Value(value)
        return ABSENT if self.is_whole else UNKNOWN

    def among(self, keys: Sequence[str]) -> Tags:
        """Return those of some keys alone."""
        return self._replace(pairs=tuple(pair for pair in self.pairs if pair[0] in keys))

    def missing(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Name those of some keys that are not among the ones that are known."""
        known = {name for name, _ in self.pairs}
        return tuple(key for key in keys if key not in known)

    def joined(self, *others: Tags) -> Tags:
        """Return these tags with others; what says a key first holds."""
        found: dict[str, str | None] = {}
        for one in (self, *others):
            for key, value in one.pairs:
                found.setdefault(key, value)
        return Tags(tuple(found.items()), all(one.is_whole for one in (self, *others)))


NO_TAGS = Tags()


def tags_of(props: Any) -> Tags:
    """Read the tags that the machines of a resource get, from its properties; nothing raises."""
    reader = Props(props)
    found = [_read(reader.own(path)) for path in PATHS]
    found += _launched(reader)
    return NO_TAGS.joined(*found)


def waiver_tag(props: Any) -> Value:
    """Return the ids of waivers that a resource refers to, as they stand in its tag.

    Any tag counts: one that no machine inherits, and one on a volume of a template.
    """
    reader = Props(props)
    specifications, is_whole = reader.items(LAUNCHED)
    holders = (reader, *(Props(one.value) for one in specifications if one.known))
    found = (_read(one.own(PATHS[0]), inherited=False).value(WAIVER_TAG) for one in holders)
    return first(*found, reference(WAIVER_LABEL, reader), ABSENT if is_whole else UNKNOWN)


def default_tags(provider: Value) -> Tags:
    """Read what a provider adds to everything: its property, a mapping or JSON text of one."""
    if not provider.known:
        return Tags(is_whole=False)
    return _read(Props(_opened(provider.value)).own("tags"))


def _opened(value: Any) -> Any:
    """Open the JSON text that Pulumi makes of a provider's nested properties."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None


def _launched(reader: Props) -> Iterator[Tags]:
    specifications, is_whole = reader.items(LAUNCHED)
    for one in specifications:
        inner = Props(one.value if one.known else None)
        kind = inner.own("resourceType")
        if kind.known and kind.value not in (None, INSTANCE):
            continue
        found = _read(inner.own("tags"))
        yield found if kind.known else found._replace(is_whole=False)
    if not is_whole:
        yield Tags(is_whole=False)


def _read(tags: Value, *, inherited: bool = True) -> Tags:
    """Read one property; of a list those that machines get, all where nothing need be inherited."""
    if not tags.known:
        return Tags(is_whole=False)
    if isinstance(tags.value, Mapping):
        reader = Props(tags.value)
        return Tags(tuple((str(key), _text(reader.own(key))) for key in tags.value))
    if isinstance(tags.value, Sequence) and not isinstance(tags.value, str):
        return _listed(tags.value, inherited)
    return NO_TAGS


def _listed(values: Sequence[Any], inherited: bool) -> Tags:
    """Read a list of keys and values; one that no machine inherits is none of theirs."""
    pairs: list[tuple[str, str | None]] = []
    is_whole = True
    holder = Props(values)
    for index in range(len(values)):
        item = holder.own(index)
        entry = Props(item.value if item.known else None)
        key = entry.own("key")
        passed_on = entry.own("propagateAtLaunch") if inherited else ABSENT
        if not (item.known and key.known and passed_on.known):
            is_whole = False
        elif isinstance(key.value, str) and passed_on.value is not False:
            pairs.append((key.value, _text(entry.own("value"))))
    return Tags(tuple(pairs), is_whole)


def _text(value: Value) -> str | None:
    return value.value if value.known and isinstance(value.value, str) else None
