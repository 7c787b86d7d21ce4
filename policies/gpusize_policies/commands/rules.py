"""`gpusize rules`: list the rules."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpusize_policies.commands.emit import emit
from gpusize_policies.commands.options import Parser, add_output, add_settings_file

if TYPE_CHECKING:
    from gpusize_policies.rule import Rule

    Rules = Sequence[Rule]

EXAMPLES = """\
  gpusize rules
  gpusize rules --format json
  gpusize explain weights-exceed-vram      the page of one rule
"""


def parser() -> Parser:
    """Describe the options."""
    made = Parser("rules", "List every rule with its code, its default severity and what it says.")
    made.epilog = f"examples:\n{EXAMPLES}"
    add_output(made, ("text", "json", "markdown"))
    add_settings_file(made)
    return made


def run(options: Namespace) -> int:
    """Print the list, rules of the team among them where the settings have some."""
    from gpusize_policies.commands.session import load_settings
    from gpusize_policies.registry import RULES

    rules = (*RULES, *load_settings(options).custom.rules)
    emit(_WRITERS[options.format](rules), options.output)
    return 0


def _text(rules: Rules) -> str:
    codes = max(len(rule.code) for rule in rules)
    width = max(len(rule.name) for rule in rules)
    lines = [
        f"{rule.code.ljust(codes)}  {rule.name.ljust(width)}  {rule.severity.value.ljust(6)}"
        f"  {rule.summary}"
        for rule in rules
    ]
    return "\n".join(lines) + "\n"


def _json(rules: Rules) -> str:
    import json

    return json.dumps([_data(rule) for rule in rules], indent=2) + "\n"


def _data(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "topic": rule.topic,
        "summary": rule.summary,
        "since": rule.since,
        "waivable": rule.waivable.value,
        "needs": rule.needs.value,
        "parameters": list(rule.parameters),
        "remediation": rule.remediation or None,
        "docs": rule.docs,
    }


def _markdown(rules: Rules) -> str:
    lines = ["| code | name | severity | what it says |", "|---|---|---|---|"]
    for rule in rules:
        page = rule.docs.removeprefix("docs/rules/")
        summary = rule.summary.replace("|", "\\|")
        lines.append(f"| {rule.code} | [{rule.name}]({page}) | {rule.severity.value} | {summary} |")
    return "\n".join(lines) + "\n"


_WRITERS = {"text": _text, "json": _json, "markdown": _markdown}
