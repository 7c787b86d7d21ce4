"""`gpusize rules`: list the rules."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from gpusize_policies.commands.emit import emit
from gpusize_policies.commands.options import Parser, add_output

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
    return made


def run(options: Namespace) -> int:
    """Print the list."""
    emit(_WRITERS[options.format](), options.output)
    return 0


def _text() -> str:
    from gpusize_policies.registry import RULES

    width = max(len(rule.name) for rule in RULES)
    lines = [
        f"{rule.code}  {rule.name.ljust(width)}  {rule.severity.value.ljust(6)}  {rule.summary}"
        for rule in RULES
    ]
    return "\n".join(lines) + "\n"


def _json() -> str:
    import json

    from gpusize_policies.registry import RULES

    return json.dumps([_data(rule) for rule in RULES], indent=2) + "\n"


def _data(rule: Any) -> dict[str, Any]:
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


def _markdown() -> str:
    from gpusize_policies.registry import RULES

    lines = ["| code | name | severity | what it says |", "|---|---|---|---|"]
    for rule in RULES:
        page = rule.docs.removeprefix("docs/rules/")
        summary = rule.summary.replace("|", "\\|")
        lines.append(f"| {rule.code} | [{rule.name}]({page}) | {rule.severity.value} | {summary} |")
    return "\n".join(lines) + "\n"


_WRITERS = {"text": _text, "json": _json, "markdown": _markdown}
