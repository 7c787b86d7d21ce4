"""The Pulumi package schema of the plugin, built from the pydantic models.

`schema.json` beside this module is its output, checked in: the host only reads it. Write it anew
after a change of the vocabulary or of the answers:

    python -m gpusize.schema

A type of the schema is a group of fields or an enum of the models. Sizing inputs are plain; ranges
and defaults stand in the descriptions, for a default in the schema would be sent by generated SDKs
as if the user had written it, also where the kind of work does not have the field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from gpusize import __version__
from gpusize.inputs import AMOUNTS, LISTS, SWITCHES, WIRING
from gpusize.tokens import COMPONENT, PACKAGE, RESOLVE

Json = dict[str, Any]

SCHEMA_FILE = Path(__file__).with_name("schema.json")

RANGE_WORDS = (
    ("exclusiveMinimum", "more than"),
    ("minimum", "at least"),
    ("maximum", "at most"),
)
"""Keywords of JSON Schema that Pulumi's schema lacks, in words."""
NO_LIMIT = 2**53
"""Whole numbers that a JSON number carries exactly end here: no limit worth telling."""

TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "number"}
WHOLE: Json = {"type": "integer"}
YES_NO: Json = {"type": "boolean"}
TEXTS: Json = {"type": "array", "items": TEXT}

SHORT_FORMS: tuple[tuple[Json, object], ...] = ((TEXT, "name"), (NUMBER, 1))
"""Types that may stand in place of a group, with a sample that such a group would expand."""

LAYOUT: dict[str, tuple[Json, str]] = {
    "tp": (WHOLE, "Tensor parallel size: shards of each layer."),
    "pp": (WHOLE, "Pipeline parallel size: stages."),
    "dp": (WHOLE, "Copies of the model in one replica."),
    "ep": (WHOLE, "Ranks that the experts of a stage are spread over."),
    "cp": (WHOLE, "Ranks that share each sequence, in training."),
}
FIT: dict[str, tuple[Json, str]] = {
    "verdict": (TEXT, "fits, tight, does-not-fit or unknown."),
    "needGib": (
        NUMBER,
        "GiB that one full-context sequence, or one batch of pictures, needs on the worst GPU.",
    ),
    "budgetGib": (NUMBER, "GiB of one GPU that the engine may use."),
    "marginGib": (NUMBER, "GiB left, negative when it does not fit."),
    "bandGib": (NUMBER, "One-sided error of the need, GiB."),
    "confidence": (
        TEXT,
        "How sure the need is, by its error against the budget: high (1 %), medium (2.5 %) or low.",
    ),
    "kvPoolGib": (NUMBER, "GiB of one GPU left for the KV cache."),
    "sequences": (NUMBER, "Sequences of the declared context that run at once in one replica."),
    "longestContext": (WHOLE, "Tokens of the longest single sequence that fits."),
    "termsGib": (
        {"type": "object", "additionalProperties": NUMBER},
        "GiB of each use of memory: weights, kv-cache, activations and so on.",
    ),
    "contextLength": (WHOLE, "Tokens of the sequence that the need is for."),
    "reasons": (TEXTS, "What is not known, where the verdict is unknown."),
    "constants": (TEXTS, "Rows of the engines table that were used."),
    "stage": (
        TEXT,
        "Stage that needs most: load, encode text or pictures, denoise, generate, decode, train.",
    ),
    "largestBatch": (
        WHOLE,
        "Samples of the declared size that one GPU takes at once.",
    ),
    "largestWidth": (
        WHOLE,
        "Width of the largest picture of the declared shape that fits, pixels.",
    ),
    "largestHeight": (WHOLE, "Its height, pixels."),
    "largestSeconds": (NUMBER, "Length of the longest clip of sound that fits, seconds."),
    "hostGib": (NUMBER, "GiB that wait in host memory, of one GPU."),
}
GROUPS: dict[str, tuple[str, dict[str, tuple[Json, str]], tuple[str, ...]]] = {
    "DecidedLayout": ("Parallel sizes of one replica.", LAYOUT, tuple(LAYOUT)),
    "DecidedFit": ("Memory of the worst GPU against its budget.", FIT, ("verdict",)),
}
"""Types of answers: description, fields, which are always there."""

ANSWERS: dict[str, tuple[Json, str]] = {
    "instanceType": (TEXT, "EC2 instance type; absent when nothing in the region holds the work."),
    "nodes": (WHOLE, "Instances of one replica."),
    "ultraserver": (TEXT, "UltraServer that the instances belong to; absent for other types."),
    "gpus": (WHOLE, "GPUs of one replica."),
    "layout": ({"$ref": "#/types/gpusize:index:DecidedLayout"}, "Parallel sizes of one replica."),
    "region": (TEXT, "Region of the plan."),
    "zones": (TEXTS, "Availability zones that list the type, where they are known."),
    "market": (TEXT, "How capacity is bought: on-demand, spot or capacity-block."),
    "scaling": (TEXT, "fixed, scheduled or scale-to-zero."),
    "hourlyCost": (NUMBER, "USD per hour of all replicas; absent when a price is unknown."),
    "monthlyCost": (NUMBER, "USD per month; absent when a price is unknown or work is bounded."),
    "runCost": (NUMBER, "USD per run of bounded work; absent when it is unknown."),
    "priceDate": (TEXT, "Date of the oldest price that the cost rests on."),
    "rootVolumeGib": (NUMBER, "Root volume of one instance, GiB."),
    "rootVolumeThroughputMbps": (NUMBER, "Its throughput, MiB/s."),
    "loadSeconds": (
        NUMBER,
        "About how long an instance loads the weights, seconds; absent when it is unknown.",
    ),
    "instanceStoreGib": (WHOLE, "Instance store of one instance, GiB; absent without one."),
    "efaInterfaces": (
        WHOLE,
        "EFA interfaces of one instance where a replica spans several; absent where not known.",
    ),
    "fit": ({"$ref": "#/types/gpusize:index:DecidedFit"}, "What the memory holds."),
    "fits": (YES_NO, "Whether it can run: in memory, precision and layout."),
    "locked": (YES_NO, "Whether `gpusize.lock` gave the decision."),
    "reasons": (TEXTS, "Why this was decided, or why nothing could be."),
    "version": (TEXT, "Version of gpusize that decided."),
    "catalogVersion": (TEXT, "Date of the newest row of the catalog that decided."),
    "catalogDigest": (TEXT, "Digest of that catalog with its overlays."),
}
ALWAYS = ("fits", "locked", "reasons", "version", "catalogVersion", "catalogDigest")
"""Answers that are never absent."""

RESOURCES: dict[str, tuple[Json, str]] = {
    "launchTemplateId": (TEXT, "Id of the launch template; absent without an instance type."),
    "instanceIds": (TEXTS, "Ids of the instances that `createInstance` made."),
    "groupName": (TEXT, "Name of the Auto Scaling group that `createGroup` made."),
    "groupInstanceTypes": (TEXTS, "Instance types of that group, the chosen one first."),
    "placementGroupName": (TEXT, "Name of the placement group, made or given."),
    "securityGroupId": (TEXT, "Id of the security group that was made."),
    "capacityReservationId": (TEXT, "Id of the reservation or block, made or given."),
    "alarmNames": (TEXTS, "Names of the alarms that end idle instances."),
}
QUESTION: dict[str, tuple[Json, str]] = {
    "name": (TEXT, "Name of the workload, as it stands in `gpusize.lock`."),
    "today": (TEXT, "Date of the decision, YYYY-MM-DD. Default: the date of the run."),
}
"""Arguments of the function beside the declaration."""


def package_schema() -> Json:
    """Build the schema of the whole package."""
    types: Json = {}
    sizing, required = _sizing(types)
    for name, (description, fields, always) in GROUPS.items():
        types[f"{PACKAGE}:index:{name}"] = {
            "description": description,
            "type": "object",
            "properties": _properties(fields),
            "required": sorted(always),
        }
    return {
        "name": PACKAGE,
        "displayName": "gpusize",
        "version": __version__,
        "description": "GPU workloads on AWS, sized from what they run and how they must run.",
        "keywords": ["gpu", "aws", "kind/component", "category/cloud"],
        "license": "Apache-2.0",
        "language": {
            name: {"respectSchemaVersion": True}
            for name in ("nodejs", "python", "csharp", "java", "go")
        },
        "types": dict(sorted(types.items())),
        "resources": {
            COMPONENT: {
                "isComponent": True,
                "description": (
                    "A declared GPU workload, sized to an EC2 instance type, layout and market, "
                    "with what EC2 needs to run it."
                ),
                "inputProperties": {**sizing, **_shell_inputs()},
                "requiredInputs": required,
                "properties": _properties({**ANSWERS, **RESOURCES}),
                "required": sorted(ALWAYS),
            }
        },
        "functions": {
            RESOLVE: {
                "description": "Decide as a GpuWorkload would, without making anything.",
                "inputs": {
                    "type": "object",
                    "properties": {**sizing, **_properties(QUESTION, plain=True)},
                    "required": required,
                },
                "outputs": {
                    "type": "object",
                    "properties": _properties(ANSWERS),
                    "required": sorted(ALWAYS),
                },
            }
        },
    }


def render(schema: Json) -> str:
    """Write a schema as the checked-in file has it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def arguments() -> str:
    """Write the types of the component's arguments, as `args.py` has them."""
    from gpusize.schema_args import render_args

    schema = package_schema()
    inputs = schema["resources"][COMPONENT]["inputProperties"]
    shell = _shell_inputs()
    return render_args(schema, {name: one for name, one in inputs.items() if name not in shell})


def main() -> None:
    """Write `schema.json` and `args.py` anew."""
    from gpusize.schema_args import ARGS_FILE

    SCHEMA_FILE.write_text(render(package_schema()), encoding="utf-8")
    ARGS_FILE.write_text(arguments(), encoding="utf-8")


def _sizing(types: Json) -> tuple[Json, list[str]]:
    """Return the fields of all kinds of work with those that every kind requires."""
    from gpusize.workload import WORKLOAD_CLASSES

    fields: Json = {}
    requirements: list[set[str]] = []
    for kind in WORKLOAD_CLASSES.values():
        schema = kind.model_json_schema(by_alias=True)
        groups = schema.get("$defs", {})
        for name, group in groups.items():
            types.setdefault(f"{PACKAGE}:index:{name}", _type(group, groups))
        for name, field in schema["properties"].items():
            fields.setdefault(name, _described(field, groups))
        requirements.append(set(schema.get("required", ())))
    properties = {name: _field(field) for name, field in fields.items()}
    for name in types.keys() - _named_in(properties, types):
        del types[name]  # of a field that another kind of work has under the same name
    return properties, sorted(set.intersection(*requirements))


def _named_in(part: object, types: Json) -> set[str]:
    """Return the types that a part of the schema refers to, and those that they refer to."""
    inner: Iterable[object] = ()
    found: set[str] = set()
    if isinstance(part, dict):
        inner = part.values()
        name = str(part.get("$ref", "")).rpartition("/")[2]
        if name in types:
            found = {name} | _named_in(types[name], types)
    elif isinstance(part, list):
        inner = part
    return found.union(*(_named_in(one, types) for one in inner))


def _shell_inputs() -> Json:
    wiring = {
        name: {"description": text, **(TEXTS if name in LISTS else TEXT)}
        for name, text in WIRING.items()
    }
    switches = {
        name: {"description": text, **YES_NO, "plain": True} for name, text in SWITCHES.items()
    }
    amounts = {
        name: {"description": one.description, **(WHOLE if one.is_whole else NUMBER), "plain": True}
        for name, one in AMOUNTS.items()
    }
    return {**wiring, **switches, **amounts}


def _properties(fields: Mapping[str, tuple[Json, str]], plain: bool = False) -> Json:
    mark = {"plain": True} if plain else {}
    return {name: {"description": text, **kind, **mark} for name, (kind, text) in fields.items()}


def _described(field: Json, groups: Json) -> Json:
    """Give back a description that pydantic leaves out, since the group has the same one."""
    group = groups.get(field.get("$ref", "").rpartition("/")[2], {})
    return {"description": group.get("description", ""), **field}


def _type(group: Json, groups: Json) -> Json:
    """Turn one definition of JSON Schema into a type of the package."""
    described = {"description": group["description"]} if group.get("description") else {}
    if "enum" in group:
        values = [{"name": _enum_name(value), "value": value} for value in group["enum"]]
        return {**described, "type": group["type"], "enum": values}
    properties = {
        name: _field(_described(field, groups)) for name, field in group["properties"].items()
    }
    required = sorted(group.get("required", ()))
    return {
        **described,
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
    }


def _field(field: Json) -> Json:
    description = _sentences(field)
    return {**({"description": description} if description else {}), **_plain_type(field)}


def _plain_type(schema: Json) -> Json:
    """Turn the type of one field into a plain type of Pulumi's schema."""
    if "$ref" in schema:
        return _reference(schema["$ref"].rsplit("/", 1)[1])
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in schema:
            return _choice([part for part in schema[keyword] if part.get("type") != "null"])
    convert: dict[str, Callable[[Json], Json]] = {
        "array": lambda part: {"type": "array", "items": _plain_type(part["items"])},
        "object": lambda part: {
            "type": "object",
            "additionalProperties": _plain_type(part.get("additionalProperties") or TEXT),
        },
    }
    kind = schema["type"]
    converted = convert[kind](schema) if kind in convert else {"type": kind}
    return {**converted, "plain": True}


def _reference(name: str) -> Json:
    """Refer to a type; a group with a short form may be given by it as well."""
    from gpusize import workload as vocabulary

    reference = {"$ref": f"#/types/{PACKAGE}:index:{name}", "plain": True}
    expand = getattr(getattr(vocabulary, name), "expand", None)
    if expand is None:
        return reference
    short = [kind for kind, sample in SHORT_FORMS if expand(sample) != sample]
    forms = [{**kind, "plain": True} for kind in short]
    return {"oneOf": [*forms, reference], "plain": True} if forms else reference


def _choice(parts: list[Json]) -> Json:
    if len(parts) == 1:
        return _plain_type(parts[0])
    return {"oneOf": [_plain_type(part) for part in parts], "plain": True}


def _sentences(field: Json) -> str:
    """Describe a field with its range and its default."""
    words = [str(field.get("description", "")).strip()]
    limits = [
        f"{word} {_number(part[keyword])}"
        for part in _parts(field)
        for keyword, word in RANGE_WORDS
        if keyword in part and abs(part[keyword]) < NO_LIMIT
    ]
    if limits:
        words.append(f"Must be {' and '.join(dict.fromkeys(limits))}.")
    default = field.get("default")
    if isinstance(default, (str, int, float)):
        words.append(f"Default: {_number(default)}.")
    return " ".join(filter(None, words))


def _parts(field: Json) -> Iterable[Json]:
    return (field, *field.get("anyOf", ()))


def _number(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _enum_name(value: str) -> str:
    return "".join(part.capitalize() for part in value.replace("_", "-").split("-"))


if __name__ == "__main__":
    main()
