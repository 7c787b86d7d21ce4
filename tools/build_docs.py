"""Writes the generated pages of docs/ and the settings' schema: `python -m tools.build_docs`.

A page per rule comes from its docstring, its cases and its settings, `docs/cli.md` from the
parsers, `docs/settings.md` from the table of settings, `docs/component.md` from the plugin's
schema, `docs/inference.md` from the tables of engines, `docs/resources.md` from samples of
resources, `docs/facts.md` from the facts of custom rules. `--check` writes nothing and exits 1 when
a page is stale.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from gpusize import settings as thresholds
from gpusize.names import to_camel
from gpusize_catalog.store import Catalog, load
from gpusize_policies import settings_file
from gpusize_policies.cli import COMMANDS, help_text
from gpusize_policies.custom.schema import facts_schema
from gpusize_policies.registry import RULES
from gpusize_policies.rule import Needs, Rule, Waivable
from gpusize_policies.settings import PRESETS
from tests.rules.examples import TODAY, Example, declared_of, examples
from tests.rules.examples import findings as judged
from tools import readme
from tools.component_page import component_page
from tools.facts_page import facts_page
from tools.inference_page import inference_page
from tools.resource_page import resource_page

ROOT = Path(__file__).resolve().parent.parent
GENERATED_FROM_SCHEMA = "<!-- Written by tools/build_docs.py from plugin/gpusize/schema.json. -->"
GENERATED_FROM_TABLES = (
    "<!-- Written by tools/build_docs.py from policies/gpusize_policies/launched/. -->"
)
GENERATED_FROM_SAMPLES = "<!-- Written by tools/build_docs.py from samples in tests/. -->"
GENERATED_FROM_FACTS = (
    "<!-- Written by tools/build_docs.py from policies/gpusize_policies/custom/facts.py. -->"
)
GENERATED = "<!-- Written by tools/build_docs.py: edit the rule, its cases or the parser. -->"

SETTINGS_EXAMPLE = """\
```yaml
preset: recommended
levels:
  no-memory-headroom: off
  GPU501: error
parameters:
  minSpotDiscount: 0.4
unknowns: error
today: 2026-11-30
# catalog: [./our-prices]   # folders of your own rows, see overlays.md
```"""

REMEDIATION = (
    "At level `remediate` the policy pack mends this before the resource is made, and shows what it"
    " changed ([how](../brownfield.md#remediation)). What it cannot mend is an error."
)
ENVIRONMENTS_TEXT = (
    "What holds in place of the rest on some stacks. The first that matches holds: by the name of"
    " the stack, or by tags of the stack (`pulumi stack tag set`); one that says neither has its"
    " own name for a glob. `levels`, `parameters`, `quotas` and `team` are changed key by key,"
    " everything else as a whole. The command is told `--stack NAME` or `--environment NAME`; a"
    " declaration says nothing of environments, for the same file is deployed to several. Tags of"
    " the stack are seen by the policy pack alone: where they choose, the component decides by what"
    " holds elsewhere, and the pack may object."
)
ENVIRONMENTS_EXAMPLE = """\
```yaml
# gpusize-policy.yaml
preset: observe
environments:
  production:
    stacks: ["prod", "prod-*"]
    preset: strict
    levels:
      single-replica-interruptible: error
    parameters:
      maxPriceAgeDays: 30
    team:
      maxHourly: 200
  research:
    tags: {purpose: "research*"}
    levels: {GPU501: off}
```"""
PRICES_EXAMPLE = """\
```yaml
prices:
  discounts:
    - {types: "p5*", market: on-demand, region: "us-*", percent: 12}
  commitments:
    - {plan: savings-plan, years: 1, types: "g6e.*", percent: 28}
    - {plan: reserved-instance, years: 3, types: p5.48xlarge, usdPerHour: 23.5}
  capacityBlocks:
    - {types: p5.48xlarge, region: us-east-1, usdPerHour: 40.9}
  spotInterruptions:
    - {types: "p4d*", perDay: 0.5}
```"""

SEEN = """\
It sees the declarations of a file and the `GpuWorkload`s of a Pulumi program in YAML. It does not
run programs: raw resources (`aws:ec2/instance:Instance` and the like), programs in other languages
and the stack's configuration are seen by the policy pack alone, in `pulumi preview`. To judge a
state without a program, run `pulumi policy analyze` in the program's folder: `gpusize.yaml`,
`gpusize-policy.yaml` and `gpusize.lock` are looked for in the current one."""

NEEDS = {
    Needs.NOTHING: "nothing; it speaks on what is missing",
    Needs.WORKLOAD: "a declaration",
    Needs.CANDIDATE: "a declaration on a placement, decided or pinned or deployed",
    Needs.DECISION: "a decision that was taken before",
    Needs.WAIVER: "a waiver, or a tag that refers to one",
    Needs.MACHINE: "a resource of a stack that selects a type with GPUs, declared or not",
    Needs.STACK: "all workloads and machines of a run together",
    Needs.RESOURCE: "a machine of a stack, with its launch template and what it lies in",
}
WAIVABLE = {
    Waivable.YES: "yes",
    Waivable.EVIDENCE: "with evidence: a measured number or a link to a log",
    Waivable.NO: "no",
}
TOPICS = {
    "memory": "Memory",
    "precision": "Precision and kernels",
    "parallelism": "Parallelism and topology",
    "picking": "Types that AWS picks from",
    "speed": "Speed",
    "billing": "Billing",
    "capacity": "Capacity",
    "network": "Network",
    "storage": "Storage and data movement",
    "offerings": "Catalog, availability and price",
    "governance": "Governance",
    "waivers": "Waivers",
    "baseline": "Baseline",
    "team": "Team rules",
    "budget": "Budgets",
}


def main(arguments: list[str]) -> int:
    """Write what differs, or tell it."""
    made = {path: write() for path, write in pages().items()}
    stale = [path for path, text in made.items() if not _is_current(path, text)]
    orphans = _orphans()
    if "--check" in arguments:
        for path in (*stale, *orphans):
            print(f"stale: {path.relative_to(ROOT)}; run `make docs`")
        return int(bool(stale or orphans))
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in orphans:
        path.unlink()
    print(f"{len(stale)} pages written, {len(orphans)} removed")
    return 0


def pages() -> dict[Path, Callable[[], str]]:
    """Every generated file with what writes its text."""
    catalog = load()
    schema = Path(settings_file.__file__).with_name("settings.schema.json")
    facts = schema.parent / "custom/facts.schema.json"
    return {
        **{ROOT / rule.docs: partial(rule_page, rule, catalog) for rule in RULES},
        ROOT / "docs/rules/README.md": index_page,
        ROOT / "docs/cli.md": cli_page,
        ROOT / "docs/settings.md": settings_page,
        ROOT / "docs/component.md": partial(component_page, GENERATED_FROM_SCHEMA),
        ROOT / "docs/inference.md": partial(inference_page, GENERATED_FROM_TABLES),
        ROOT / "docs/resources.md": partial(resource_page, GENERATED_FROM_SAMPLES),
        ROOT / "docs/facts.md": partial(facts_page, GENERATED_FROM_FACTS),
        ROOT / "README.md": readme.render,
        ROOT / "docs/waivers.md": partial(readme.render, "docs/waivers.md"),
        schema: lambda: json.dumps(settings_file.schema(), indent=2) + "\n",
        facts: lambda: json.dumps(facts_schema(), indent=2) + "\n",
    }


def rule_page(rule: Rule, catalog: Catalog) -> str:
    """Return the page of one rule."""
    cases = examples(rule.code)
    bad = next(example for example in cases if example.verdict == "bad")
    good = next(example for example in cases if example.verdict == "good")
    sections = [
        f"# {rule.code} {rule.name}",
        GENERATED,
        rule.section("What"),
        _facts(rule),
        f"## Why\n\n{rule.section('Why')}",
        f"## Bad\n\n{_example(bad)}\n\n{_finding(bad, catalog)}",
        f"## Good\n\n{_example(good)}",
        f"## Fix\n\n{rule.section('Fix')}",
    ]
    if rule.section("Limits"):
        sections.append(f"## Limits\n\n{rule.section('Limits')}")
    if rule.remediation:
        sections.append(f"## Remediation\n\n{REMEDIATION}\n\n{rule.remediation}")
    sections += [f"## Configuration\n\n{_configuration(rule)}", f"## Sources\n\n{_sources(rule)}"]
    return "\n\n".join(sections) + "\n"


def _facts(rule: Rule) -> str:
    rows = (
        ("severity", f"{rule.severity.value}{', off by default' if rule.is_off else ''}"),
        ("since", rule.since),
        ("judges", "; ".join(NEEDS[needs] for needs in (rule.needs, *rule.beside))),
        ("may be waived", WAIVABLE[rule.waivable]),
    )
    return "| | |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in rows)


def _example(example: Example) -> str:
    title = example.title[0].upper() + example.title[1:]
    declared = declared_of(example)
    shows = declared or example.resources
    parts = [f"{title}{_aside(example)}:" if shows else f"{title}{_aside(example)}."]
    if declared:
        parts.append(_yaml({"workloads": declared}))
    if example.resources:
        if declared:
            parts.append("run by these resources of a Pulumi program:")
        parts.append(_yaml({"resources": example.resources}))
    if example.settings:
        parts.append("with this `gpusize-policy.yaml`:")
        parts.append(_yaml(example.settings))
    for name, text in (example.overlay or {}).items():
        parts.append(f"with this `{name}` in a catalog overlay:")
        parts.append(f"```csv\n{text.strip()}\n```")
    return "\n\n".join(parts)


def _aside(example: Example) -> str:
    """Say what a declaration alone does not."""
    notes = []
    if example.today != TODAY.isoformat():
        notes.append(f"on {example.today}")
    if example.lock:
        notes.append(f"while `gpusize.lock` keeps `{example.lock['instance_type']}`")
    if example.decided and example.decided.get("catalog_version"):
        notes.append(f"decided with the catalog of {example.decided['catalog_version']}")
    if example.unknown:
        notes.append(f"`{'`, `'.join(example.unknown)}` not known before the update")
    return f" ({'; '.join(notes)})" if notes else ""


def _finding(example: Example, catalog: Catalog) -> str:
    findings = judged(example, catalog)
    mine = next(finding for finding in findings if finding.code == example.code)
    return f"```text\n{_undated(mine.message, catalog)}\n```"


def _undated(message: str, catalog: Catalog) -> str:
    """Leave out which catalog this is: any new row would make the page stale."""
    for word in ("catalog", "with"):
        message = message.replace(f"{word} {catalog.version}", f"{word} <date>")
    return message.replace(catalog.digest, "<digest>")


def _configuration(rule: Rule) -> str:
    lines = ["levels:", f"  {rule.name}: warn"]
    known = thresholds.parameters()
    found = {name: known[name] for name in rule.parameters if name in known}
    if found:
        lines += ["parameters:", *(f"  {name}: {value:g}" for name, value in found.items())]
    if "unknowns" in rule.parameters:
        lines = ["unknowns: error"]
    levels = ", ".join(f"`{level}`" for level in settings_file.levels_of(rule))
    text = f"In `gpusize-policy.yaml` ([settings](../settings.md)); levels are {levels}."
    if found:
        text += " The parameters are shown with their defaults."
    return "\n".join([text, "", "```yaml", *lines, "```"])


def _sources(rule: Rule) -> str:
    links = rule.section("Sources").split(", ")
    return "\n".join(f"- {f'<{link}>' if link.startswith('http') else link}" for link in links)


def index_page() -> str:
    """Return the table of all rules, by topic."""
    parts = [
        "# Rules",
        GENERATED,
        "A rule has a permanent code and a name; both are taken wherever a rule is named. Its"
        " severity is a default: [settings](../settings.md) map it to a level. `gpusize explain"
        " CODE` prints a page in the terminal.",
    ]
    for topic, title in TOPICS.items():
        rules = [rule for rule in RULES if rule.topic == topic]
        rows = [
            f"| [{rule.code}]({Path(rule.docs).name}) | {rule.name} | {rule.severity.value} |"
            f" {rule.summary} |"
            for rule in rules
        ]
        header = "| code | name | severity | what it says |\n|---|---|---|---|"
        parts.append("\n".join([f"## {title}\n", header, *rows]))
    return "\n\n".join(parts) + "\n"


def cli_page() -> str:
    """Return the help of every command."""
    parts = ["# The command", GENERATED, SEEN, f"```text\n{help_text()}```"]
    for name in COMMANDS:
        parser = import_module(f"gpusize_policies.commands.{name}").parser()
        parts.append(f"## gpusize {name}\n\n```text\n{parser.format_help()}```")
    return "\n\n".join(parts) + "\n"


def settings_page() -> str:
    """Return the reference of the settings file."""
    schema = settings_file.schema()["properties"]
    rows = [f"| `{name}` | {field['description']} |" for name, field in schema.items()]
    meanings = _meanings(Path(thresholds.__file__))
    numbers = [
        f"| `{name}` | {value if isinstance(value, int) else f'{value:g}'} | {meanings[name]} |"
        for name, value in thresholds.parameters().items()
    ]
    presets = [f"| `{name}` | {_preset(changes)} |" for name, changes in PRESETS.items()]
    parts = [
        "# Settings",
        GENERATED,
        "One file, `gpusize-policy.yaml`, tells the component how to decide, and the command and"
        " the policy pack how to judge. The command takes it from its folder, or as `--settings"
        " FILE`; component and pack from beside the program, or where the stack's configuration"
        " says (`gpusize:settings`). What `--policy-pack-config` takes is taken here too, so one"
        " file can serve all; what stands on that option alone, the component does not see."
        " `gpusize schema settings` prints its JSON Schema.",
        "In the stack's configuration `gpusize:today` and `gpusize:lock` win over the keys of those"
        " names, and the folders of `gpusize:catalog` lie over those of `catalog`.",
        SETTINGS_EXAMPLE,
        "\n".join(["| key | meaning |", "|---|---|", *rows]),
        "## Presets\n\n" + "\n".join(["| preset | changes |", "|---|---|", *presets]),
        _prices(schema["prices"]),
        _team(schema["team"]),
        _environments(schema["environments"]),
        "## Parameters\n\n"
        + "\n".join(["| name | default | meaning |", "|---|---|---|", *numbers]),
    ]
    return "\n\n".join(parts) + "\n"


def _prices(schema: dict[str, Any]) -> str:
    """Return the reference of the key `prices`."""
    rows = [
        f"| `{name}` | `{key}`{'' if key in part['items']['required'] else ' (optional)'} |"
        f" {entry['description']} |"
        for name, part in schema["properties"].items()
        for key, entry in part["items"]["properties"].items()
    ]
    heads = [f"`{name}`: {part['description']}" for name, part in schema["properties"].items()]
    text = (
        "What no public source has: private discounts, rates of commitments, quotes of capacity"
        " blocks, and how often spot capacity was taken back. What is not said here stays unknown"
        " or assumed, and answers say so. Of entries that match, the first one holds. A commitment"
        " takes `usdPerHour` or `percent`."
    )
    table = "\n".join(["| list | key | meaning |", "|---|---|---|", *rows])
    listed = "\n".join(f"- {head}" for head in heads)
    return f"## Prices\n\n{text}\n\n{PRICES_EXAMPLE}\n\n{listed}\n\n{table}"


def _team(schema: dict[str, Any]) -> str:
    """Return the reference of the key `team`."""
    rows = [f"| `{name}` | {key['description']} |" for name, key in schema["properties"].items()]
    text = (
        "What the team allows, and how much; the resolver chooses only what is allowed. How the"
        " ceilings work: [team rules](team-rules.md)."
    )
    table = "\n".join(["| key | meaning |", "|---|---|", *rows])
    return f"## Team\n\n{text}\n\n{table}"


def _environments(schema: dict[str, Any]) -> str:
    """Return the reference of the key `environments`."""
    keys = schema["additionalProperties"]["properties"]
    rows = [
        f"| `{name}` | {key.get('description', f'as `{name}` above')} |"
        for name, key in keys.items()
    ]
    table = "\n".join(["| key | meaning |", "|---|---|", *rows])
    return f"## Environments\n\n{ENVIRONMENTS_TEXT}\n\n{ENVIRONMENTS_EXAMPLE}\n\n{table}"


def _meanings(source: Path) -> dict[str, str]:
    """Return what is written below each field of the thresholds, by the name in files."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    fields = next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)).body
    found: dict[str, str] = {}
    for field, text in pairwise(fields):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            words = ast.literal_eval(text.value).split()
            found[to_camel(ast.unparse(field.target))] = " ".join(words)
    return found


def _preset(changes: dict[str, str]) -> str:
    return ", ".join(f"{old} becomes {new}" for old, new in changes.items()) or "nothing"


def _yaml(data: Any) -> str:
    text = yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=88)
    return f"```yaml\n{text}```"


def _is_current(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def _orphans() -> list[Path]:
    """Pages of rules that are no more."""
    wanted = {ROOT / rule.docs for rule in RULES} | {ROOT / "docs/rules/README.md"}
    return sorted(set((ROOT / "docs/rules").glob("*.md")) - wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
