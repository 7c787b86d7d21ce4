"""Resources of a case, written as in a Pulumi YAML program, as a policy sees them."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusize_policies.inputs import Context
from gpusize_policies.machines import Seen
from gpusize_policies.reading import BLOCK
from gpusize_policies.session import Run, Session
from gpusize_policies.settings import DEFAULTS, Settings

if TYPE_CHECKING:
    import datetime

    from gpusize_catalog.store import Catalog
    from gpusize_policies.finding import Finding
    from gpusize_policies.settings import Settings

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""What stands for a value of another resource before the update."""
REFERENCE = re.compile(r"\$\{(\w+)\.\w+\}")


def findings_of(
    workloads: Mapping[str, Any],
    resources: Mapping[str, Any],
    catalog: Catalog,
    today: datetime.date,
    settings: Settings = DEFAULTS,
) -> list[Finding]:
    """Judge a stack as the policy pack does: each resource by itself, then all of them."""
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps({"workloads": dict(workloads)})
        (Path(folder) / "gpusize.yaml").write_text(text, encoding="utf-8")
        session = Session(Run(settings, today, Path(folder)), Context(catalog, settings, today))
        stack = list(seen(resources))
        early = [finding for one in stack for finding in session.judge(one)]
        wrong = session.about_settings()
        return [*early, *wrong, *(finding for _, finding in session.finish(stack))]


def seen(resources: Mapping[str, Any]) -> Iterator[Seen]:
    """Turn resources into what a policy sees: references are unknown, and what they rest on."""
    for name, resource in resources.items():
        kind, properties = token(resource["type"]), resource["properties"]
        sources = {
            key: [_urn(on, resources) for on in _named(properties[key])] for key in properties
        }
        props = {key: _opened(value) for key, value in properties.items()}
        if kind == BLOCK:
            props = {**props, **resource.get("outputs", {})}
        yield Seen(kind, name, _urn(name, resources), props, sources=sources)


def token(kind: str) -> str:
    """Write a type in full: `aws:ec2:Instance` is short for `aws:ec2/instance:Instance`."""
    package, module, name = kind.split(":")
    return kind if "/" in module else f"{package}:{module}/{name[0].lower()}{name[1:]}:{name}"


def _urn(name: str, resources: Mapping[str, Any]) -> str:
    return f"urn:pulumi:dev::app::{token(resources[name]['type'])}::{name}"


def references(value: Any) -> str:
    """Write the references in a value one after the other: unknown, and resting on the same."""
    return "".join(one.group() for one in REFERENCE.finditer(json.dumps(value)))


def _named(value: Any) -> list[str]:
    return REFERENCE.findall(json.dumps(value))


def _opened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _opened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_opened(item) for item in value]
    return UNKNOWN if isinstance(value, str) and REFERENCE.search(value) else value
