"""Makes a stack from a source of random numbers: resources, what they rest on, and settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from bench.trees.shapes import LEAF, Text, known
from bench.trees.words import CANARY, MODELS, ODD, REGIONS, TYPES, UNKNOWNS, WORDS
from gpusize.tokens import COMPONENT, WAIVER_TAG, WORKLOAD_TAG
from gpusize_policies.reading import EXTRACTORS, PARTED, SURROUNDINGS
from gpusize_policies.registry import RULES

SELECTING = (*EXTRACTORS, *PARTED)
AROUND = tuple(sorted(SURROUNDINGS))
COMMON = (
    "aws:ec2/instance:Instance",
    "aws:ec2/launchTemplate:LaunchTemplate",
    "aws:autoscaling/group:Group",
)
"""What most stacks hold: half of the machines are one of them."""
LARGEST = 7
"""Resources of one stack."""
UNKNOWN_SHARE, ODD_SHARE, READ_SHARE, OTHER_SHARE = 0.04, 0.04, 0.7, 0.02
"""Of properties: not known, of no expected shape; there where something reads them, and where
nothing does."""
TAGGED = 0.7
"""Share of resources with a tag that names a workload."""
LINK = 0.3
"""Chance that one of two resources rests on the other."""
LONGEST_LIST = 3

DECLARED: dict[str, dict[str, Any]] = {
    "chat": {
        "kind": "serving",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "weightsFormat": "fp8",
        "contextLength": 8192,
        "concurrency": 8,
        "region": "us-east-1",
    },
    "big": {
        "kind": "serving",
        "model": "meta-llama/Llama-3.1-70B-Instruct",
        "contextLength": 32768,
        "replicas": {"min": 1, "max": 4},
        "region": "us-west-2",
        "tags": {WAIVER_TAG: "w1"},
    },
    "night": {
        "kind": "batch-inference",
        "model": "Qwen/Qwen2.5-7B-Instruct",
        "contextLength": 4096,
        "promptTokens": 700,
        "outputTokens": 250,
        "runHours": 6,
        "interruptionTolerance": "restartable",
        "market": "spot",
        "region": "us-east-1",
    },
    "tune": {
        "kind": "fine-tuning",
        "method": "lora",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "sequenceLength": 2048,
        "runHours": 12,
        "region": "us-east-1",
    },
}
"""Workloads of the file beside the program."""
NAMES = (*DECLARED, "made", "stranger")
"""What tags name; several components may be called `twin`, which no tag names."""

Path = tuple[Any, ...]


class Resource(NamedTuple):
    """One resource as a program would write it; unknown values are their sentinels."""

    type: str
    name: str
    urn: str
    props: Mapping[str, Any]
    parent: str = ""
    region: Any = None
    """Of its provider."""
    sources: Mapping[str, Sequence[str]] = {}


class Tree(NamedTuple):
    """A stack and the settings that it is judged by."""

    resources: tuple[Resource, ...]
    settings: Mapping[str, Any]


def make(random: Random) -> Tree:
    """Make a stack."""
    return Tree(_Maker(random).resources(), settings(random))


def settings(random: Random) -> dict[str, Any]:
    """Make what `gpusize-policy.yaml` says; most of it is left out."""
    found: dict[str, Any] = {}
    if random.random() < 0.5:
        found["preset"] = random.choice(["recommended", "strict", "observe"])
    if random.random() < 0.3:
        found["unknowns"] = random.choice(["advice", "error", "warn"])
    chosen = random.sample(RULES, random.randrange(3))
    if chosen:
        levels = ["error", "warn", "advice", "off"]
        found["levels"] = {rule.code: random.choice(levels) for rule in chosen}
    if random.random() < 0.3:
        found["waivers"] = [_waiver(random) for _ in range(random.randrange(1, 3))]
    return found


def _waiver(random: Random) -> dict[str, Any]:
    rule = random.choice(RULES)
    found = {
        "id": random.choice(["w1", "w2"]),
        "rule": rule.name,
        "reason": "measured on the staging cluster in October",
        "owner": "platform",
        "expires": random.choice(["2026-11-01", "2026-12-31"]),
        "evidence": "https://example.com/run",
    }
    if random.random() < 0.5:
        found["workload"] = random.choice(NAMES)
    return found


class _Maker:
    """Fills shapes from one source of random numbers."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.made: list[Resource] = []

    def resources(self) -> tuple[Resource, ...]:
        """Make resources, each resting on some of those before it."""
        for index in range(self.random.randint(1, LARGEST)):
            self.made.append(self._resource(index))
        return tuple(self.made)

    def _resource(self, index: int) -> Resource:
        kind = self._kind()
        if kind == COMPONENT:
            name, props = self._component()
        else:
            name, props = f"r{index}", self._filled(kind)
        parents = [one.urn for one in self.made if one.type == COMPONENT]
        parent = self.random.choice(parents) if parents and self._happens(LINK) else ""
        return Resource(
            kind,
            name,
            f"urn:pulumi:dev::app::{kind}::{name}-{index}",
            props,
            parent,
            self._region() if self._happens(LINK) else None,
            self._sources(props),
        )

    def _happens(self, share: float) -> bool:
        return self.random.random() < share

    def _kind(self) -> str:
        drawn = self.random.random()
        if drawn < 0.15:
            return COMPONENT
        if drawn < 0.4:
            return self.random.choice(AROUND)
        return self.random.choice(COMMON if drawn < 0.7 else SELECTING)

    def _region(self) -> Any:
        return self._leaf("region")

    def _sources(self, props: Mapping[str, Any]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for one in self.made:
            if props and self._happens(LINK):
                found.setdefault(self.random.choice([*props]), []).append(one.urn)
        return found

    def _component(self) -> tuple[str, dict[str, Any]]:
        """A workload with what was decided for it, now and then with a field of another shape."""
        props = json.loads(json.dumps(self.random.choice([*DECLARED.values()])))
        props["decision"] = {
            "instanceType": self.random.choice(TYPES),
            "nodes": 1,
            "market": self.random.choice(["on-demand", "spot"]),
            "layout": {"tp": self.random.choice([1, 1, 2, 8]), "pp": 1, "dp": 1, "ep": 1},
            "version": "0.1.0",
        }
        if self._happens(0.3):
            props["model"] = self.random.choice(MODELS)
        if self._happens(0.2):
            # What a declaration says may be repeated: a secret has no place there.
            odd = self._unexpected()
            is_secret = CANARY.lower() in repr(odd).lower()
            props[self.random.choice([*props])] = None if is_secret else odd
        free = [name for name in ("made", "chat") if name not in {one.name for one in self.made}]
        return self.random.choice([*free, "twin"]), props

    def _filled(self, kind: str) -> dict[str, Any]:
        shapes = known()
        read, more = shapes.shapes[kind], shapes.more.get(kind, {})
        found = {key: self._value(key, read[key]) for key in read if self._happens(READ_SHARE)}
        for key in more:
            if key not in read and self._happens(OTHER_SHARE):
                found[key] = self._value(key, more[key])
        return found

    def _value(self, key: str, shape: Any) -> Any:
        if self._happens(UNKNOWN_SHARE + ODD_SHARE):
            return self._unexpected()
        if key == "tags":
            return self._tags(as_list=isinstance(shape, list))
        if isinstance(shape, dict):
            return {
                name: self._value(name, inner)
                for name, inner in shape.items()
                if self._happens(READ_SHARE)
            }
        if isinstance(shape, list):
            return [self._value(key, shape[0]) for _ in range(self.random.randint(0, LONGEST_LIST))]
        if isinstance(shape, Text):
            return json.dumps(self._value(key, shape.shape))
        return self._leaf(key)

    def _leaf(self, key: str) -> Any:
        words = (*WORDS.get(key, ()), *known().values.get(key, ()))
        if self._happens(UNKNOWN_SHARE + ODD_SHARE) or (not words and self._happens(0.5)):
            return self._unexpected()
        return self.random.choice(words) if words else f"{key}-{CANARY}"

    def _unexpected(self) -> Any:
        half = UNKNOWN_SHARE / (UNKNOWN_SHARE + ODD_SHARE)
        return self.random.choice(UNKNOWNS if self._happens(half) else ODD)

    def _tags(self, *, as_list: bool) -> Any:
        tags: dict[str, Any] = {"team": CANARY}
        if self._happens(TAGGED):
            tags[WORKLOAD_TAG] = self.random.choice(NAMES)
        if self._happens(0.1):
            tags[WAIVER_TAG] = self.random.choice(["w1", "w2 w1", "w9"])
        if self._happens(UNKNOWN_SHARE + ODD_SHARE):
            tags[WORKLOAD_TAG] = self.random.choice(UNKNOWNS)
        if as_list:
            return [{"key": key, "value": value} for key, value in tags.items()]
        return tags


__all__ = ["DECLARED", "LEAF", "REGIONS", "Resource", "Tree", "make"]
