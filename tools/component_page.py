"""The page of the Pulumi component: its schema as tables, and what else steers it in a stack."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpusize.inputs import belongs_to_component
from gpusize.schema import GROUPS, SCHEMA_FILE
from gpusize.surroundings import STACK_KEYS
from gpusize.tokens import COMPONENT, PACKAGE, RESOLVE
from gpusize_policies.setup import FILE_KEY, PROGRAM, SETTINGS_POLICY

Json = Mapping[str, Any]

TYPES = f"#/types/{PACKAGE}:index:"
DEFAULT = re.compile(r"^(?P<text>.*?) ?Default: (?P<default>.*)\.$", re.DOTALL)

STACK = {
    "today": "date that decisions and judgements go by, YYYY-MM-DD. Default: the day of the run.",
    "catalog": "[overlay](overlays.md) folders, with commas between; they lie over those of the"
    " settings file.",
    "lock": "file of kept decisions. Default: gpusize.lock.",
    "settings": "[settings](settings.md) file. Default: gpusize-policy.yaml.",
}
"""What each key of the stack's configuration means; a key that is not here has no page."""

INTRODUCTION = f"""\
`{COMPONENT}` declares a workload. It decides the EC2 instance type,
layout and market, and makes what the work needs. A plan that does not fit is warned of in a
preview and refused in an update, unless `allowMisfit` is set.

Names are those of YAML, TypeScript and the like. Go has them in CamelCase, Python in snake_case:
`contextLength` is `context_length` in the arguments of `gpusize.component.GpuWorkload`, where
`hourly_cost` is an output. What is sized must be known before the update: those inputs take no
outputs of other resources."""

MADE = (
    ("launch template", "always: type, market, root volume, network, placement, reservation, tags"),
    ("EFA network interfaces in it", "where a replica spans instances: all that the type has"),
    (
        "cluster placement group",
        "where a replica spans instances, except in a capacity block or an existing reservation",
    ),
    ("security group with rules", "where a replica spans instances and `vpcId` is given"),
    ("on-demand capacity reservation", "with `reserve`, which then needs `zone`"),
    ("capacity block", "with `capacityBlockOfferingId`; destroying the stack keeps it"),
    ("instances of one replica", "with `createInstance`"),
    (
        "alarm of each instance",
        "with `createInstance` and `autoStop.idleMinutes`: stops an idle instance that is on"
        " demand, terminates one on spot; none for a capacity block",
    ),
    ("Auto Scaling group of all replicas", "with `createGroup`"),
    (
        "scheduled actions of the group",
        "where traffic keeps to a schedule: up at `traffic.start` on the first days from Monday,"
        " a part of a day counting as a whole one, and down when its hours have passed",
    ),
)
"""What the component makes, and when."""

LEFT = """\
Everything is in the region of the workload and carries its tags; the reasons are in
[ADR 5](adr/0005-what-the-component-makes.md). `autoStop.maxHours` is not made, for EC2 knows no
such limit: end the instance from within (`shutdown -h`), which stops one on demand and terminates
one on spot. No script is put into user data. What the instance store (`instanceStoreGib`) holds is
for user data to format and to use."""

CONFIGURATION = f"""\
The policy pack reads the same keys. `pulumi policy analyze` has no stack: it looks for
`gpusize.yaml`, `gpusize-policy.yaml` and `gpusize.lock` in the current folder, so start it in the
program's. Where the pack does not find the program, the variable `{PROGRAM}` names its folder."""

POLICY = f"""\
The pack has a Pulumi policy for each [rule](rules/README.md), and one more, `{SETTINGS_POLICY}`: it
reports what is wrong with settings, declarations or stack configuration, and with the pack itself.
Its one property, `{FILE_KEY}`, names the settings file in `--policy-pack-config`, where levels and
the parameters of rules may stand too:

```json
{{
  "{SETTINGS_POLICY}": {{"enforcementLevel": "mandatory", "{FILE_KEY}": "gpusize-policy.yaml"}},
  "no-memory-headroom": "disabled"
}}
```"""


def component_page(generated: str) -> str:
    """Return the reference of the component, the function, the stack's keys and the policy."""
    schema: Json = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    component = schema["resources"][COMPONENT]
    function = schema["functions"][RESOLVE]
    inputs: Json = component["inputProperties"]
    required = component["requiredInputs"]
    wiring = {name: field for name, field in inputs.items() if belongs_to_component(name)}
    sizing = {name: field for name, field in inputs.items() if name not in wiring}
    asked = function["inputs"]["properties"]
    answered = function["outputs"]["properties"]
    made = {name: one for name, one in component["properties"].items() if name not in answered}
    parts = [
        "# The component",
        generated,
        INTRODUCTION,
        f"## Inputs: the declaration\n\n{_inputs(sizing, required)}",
        f"## Inputs: what to make\n\n{_inputs(wiring, required)}",
        f"## What is made\n\n{_table(('resource', 'when'), MADE)}\n\n{LEFT}",
        f"## Outputs\n\n{_outputs({**answered, **made})}",
        f"## The function `{RESOLVE}`\n\n{function['description']} It takes the inputs of the"
        f" declaration, and\n\n{_inputs(_others(asked, inputs), ())}\n\nIt gives the outputs of the"
        f" component but {_names(made)}.",
        f"## Stack configuration\n\n{_stack()}\n\n{CONFIGURATION}",
        f"## The policy `{SETTINGS_POLICY}`\n\n{POLICY}",
        "## Types",
        *(_type(token, one) for token, one in schema["types"].items()),
    ]
    return "\n\n".join(parts) + "\n"


def _others(fields: Json, known: Json) -> Json:
    return {name: field for name, field in fields.items() if name not in known}


def _names(fields: Iterable[str]) -> str:
    *first, last = (f"`{name}`" for name in fields)
    return f"{', '.join(first)} and {last}"


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Lay out rows; a bar inside a cell would end it."""
    ruler = "|".join("---" for _ in header)
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in (header, *rows)]
    return "\n".join([f"| {lines[0]} |", f"|{ruler}|", *(f"| {line} |" for line in lines[1:])])


def _inputs(fields: Json, required: Iterable[str], called: str = "input") -> str:
    rows = []
    for name, field in fields.items():
        text, default = _split(field["description"])
        shown = "**required**" if name in required else default
        rows.append((f"`{name}`", _words(field), shown, text))
    return _table((called, "type", "default", "description"), rows)


def _outputs(fields: Json, called: str = "output") -> str:
    rows = [(f"`{name}`", _words(field), field["description"]) for name, field in fields.items()]
    return _table((called, "type", "description"), rows)


def _stack() -> str:
    told = {key: _split(STACK[key]) for key in STACK_KEYS}
    rows = [(f"`{PACKAGE}:{key}`", default, text) for key, (text, default) in told.items()]
    return _table(("key", "default", "meaning"), rows)


def _split(description: str) -> tuple[str, str]:
    """Take the default out of a description."""
    found = DEFAULT.match(description)
    return (found["text"], found["default"]) if found else (description, "")


def _words(field: Json) -> str:
    """Return a type in words, groups and enums as links."""
    if "oneOf" in field:
        return " or ".join(_words(one) for one in field["oneOf"])
    if "$ref" in field:
        name = field["$ref"].removeprefix(TYPES)
        return f"[{name}](#{name.lower()})"
    if field["type"] == "array":
        return f"list of {_words(field['items'])}"
    if field["type"] == "object":
        return f"map of {_words(field['additionalProperties'])}"
    return str(field["type"])


def _type(token: str, one: Json) -> str:
    name = token.removeprefix(f"{PACKAGE}:index:")
    head = f"### {name}\n\n{one['description']}"
    if "enum" in one:
        values = ", ".join(f"`{value['value']}`" for value in one["enum"])
        return f"{head} One of {values}."
    if name in GROUPS:
        return f"{head}\n\n{_outputs(one['properties'], 'field')}"
    return f"{head}\n\n{_inputs(one['properties'], one.get('required', ()), 'field')}"
