"""`gpusize schema`: print the JSON Schemas that editors and programs use."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from gpusize_policies.commands.emit import emit
from gpusize_policies.commands.options import Parser, add_catalog, add_place

EXAMPLES = """\
  gpusize schema workload > workload.schema.json
  gpusize schema settings --output gpusize-policy.schema.json
"""


def _workload(options: Namespace) -> dict[str, Any]:
    from gpusize.workload_schema import schema
    from gpusize_policies.commands.session import load_catalog

    return schema(load_catalog(options))


def _settings(_options: Namespace) -> dict[str, Any]:
    from gpusize_policies.settings_file import schema

    return schema()


def _report(_options: Namespace) -> dict[str, Any]:
    from gpusize_policies.output.schema import schema

    return schema()


def _baseline(_options: Namespace) -> dict[str, Any]:
    from gpusize_policies.baseline import schema

    return schema()


def _facts(_options: Namespace) -> dict[str, Any]:
    from gpusize_policies.custom.schema import facts_schema

    return facts_schema()


SCHEMAS = {
    "workload": _workload,
    "settings": _settings,
    "report": _report,
    "baseline": _baseline,
    "facts": _facts,
}


def parser() -> Parser:
    """Describe the options."""
    made = Parser(
        "schema",
        "Print the JSON Schema (draft 2020-12) of a file of declarations, of the settings file,\n"
        "of a baseline, of the report that `gpusize check --format json` writes, or of the facts\n"
        "that custom rules see.",
        EXAMPLES,
    )
    made.add_argument("what", choices=tuple(SCHEMAS), help="which schema")
    add_catalog(made)
    add_place(made, "write to a file (default: print)")
    return made


def run(options: Namespace) -> int:
    """Print the schema."""
    import json

    emit(json.dumps(SCHEMAS[options.what](options), indent=2) + "\n", options.output)
    return 0
