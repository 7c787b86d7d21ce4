"""The page of the facts that rules of a team see, from the table that reads them."""

from __future__ import annotations

from gpusize_policies.custom.facts import FACTS_VERSION, ROOTS, Fact, facts

HEADS = {
    "workload": "What is declared, in the words of the declaration. A field that a kind of work has"
    " not, or that is left out without a default, is null. A machine that nobody declares has none"
    " of it: there all of it is unknown.",
    "plan": "What is judged: the type and the way to buy it that gpusize chose, or that are pinned"
    " or deployed.",
    "resource": "A resource of a stack that selects a type with GPUs; the policy pack alone sees"
    " them.",
    "run": "All workloads and machines of a stack, or of one call of `gpusize check`.",
    "settings": "What the settings say.",
}


def facts_page(generated: str) -> str:
    """Return the page."""
    parts = [
        "# Facts",
        generated,
        "What the expressions of [custom rules](custom-rules.md) see. Types are those of CEL;"
        " `null` marks facts that may be null. A fact that cannot be told (a price that nobody"
        " knows, a property without a value before the update) is not null but unknown: an"
        " expression that depends on it is not evaluated, and GPU900 says so.",
        f"This is version {FACTS_VERSION}; within it facts are only added. `gpusize schema facts`"
        " prints them as a JSON Schema.",
    ]
    for root in ROOTS:
        rows = [
            f"| `{path}` | {_type(fact)} | {_cell(fact.text)} |"
            for path, fact in facts().items()
            if fact.root == root
        ]
        table = "\n".join(["| fact | type | meaning |", "|---|---|---|", *rows])
        parts.append(f"## {root}\n\n{HEADS[root]}\n\n{table}")
    return "\n\n".join(parts) + "\n"


def _type(fact: Fact) -> str:
    return f"{fact.kind.value}, null" if fact.may_be_null else fact.kind.value


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
