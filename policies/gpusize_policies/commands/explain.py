"""`gpusize explain`: what a rule means, or why a decision is as it is."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusize_catalog.problems import GpuSizeError, Problem, printable
from gpusize_policies.commands.emit import emit
from gpusize_policies.commands.options import Parser, add_output, add_settings, given

if TYPE_CHECKING:
    from gpusize_policies.rule import Rule

SECTIONS = ("Why", "Fix", "Limits", "Sources")
LONGEST_WORD = 60
"""Characters of an unknown rule that a message repeats."""
WIDTH = 88

EXAMPLES = """\
  gpusize explain GPU101
  gpusize explain weights-exceed-vram
  gpusize explain gpusize.yaml             memory, prices, runners-up, and why not the others
"""


def parser() -> Parser:
    """Describe the options."""
    made = Parser(
        "explain",
        "Explain a rule by its code or name, or the decision on each workload of a file: what the\n"
        "memory is made of, what came second, and why each other type was rejected.",
        EXAMPLES,
    )
    made.add_argument(
        "subject", metavar="RULE|FILE", type=given, help="a rule, or a file; - reads input"
    )
    add_output(made)
    add_settings(made)
    return made


def run(options: Namespace) -> int:
    """Explain."""
    rule = _rule(options)
    if rule is not None:
        emit(_rule_json(rule) if options.format == "json" else rule_text(rule), options.output)
        return 0
    if options.subject != "-" and not Path(options.subject).exists():
        raise GpuSizeError([_unknown(options.subject)])
    from gpusize_policies.commands.resolve import answer

    return answer([options.subject], options, whole=True)


def _rule(options: Namespace) -> Rule | None:
    """Find a rule, one of the team where the settings have it."""
    from gpusize_policies.registry import find

    found = find(options.subject)
    if found is not None or options.subject == "-" or Path(options.subject).exists():
        return found
    from gpusize_policies.commands.session import load_settings

    return find(options.subject, load_settings(options).custom.rules)


def rule_text(rule: Rule) -> str:
    """Return the page of a rule for a terminal."""
    from textwrap import fill

    since = f", since {rule.since}" if rule.since else ""
    title = f"{rule.code} {rule.name} ({rule.severity.value}{since})"
    blocks = [title, rule.section("What")]
    for name in SECTIONS:
        text = rule.section(name)
        if text:
            filled = fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
            blocks.append(f"{name}:\n{filled}")
    blocks.append(f"Page: {rule.docs}")
    return "\n\n".join(blocks) + "\n"


def _rule_json(rule: Rule) -> str:
    import json

    data: dict[str, Any] = {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "since": rule.since,
        "waivable": rule.waivable.value,
        "summary": rule.section("What"),
        **{name.lower(): rule.section(name) for name in SECTIONS},
        "docs": rule.docs,
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _unknown(word: str) -> Problem:
    from gpusize_policies.registry import suggest

    close = suggest(word)
    fix = f"did you mean {' or '.join(close[:2])}?" if close else "`gpusize rules` lists the rules"
    return Problem("", f"no such rule or file: {printable(word, LONGEST_WORD)}", fix)
