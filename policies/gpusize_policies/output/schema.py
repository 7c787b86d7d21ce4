"""JSON Schema of the JSON report."""

from __future__ import annotations

from typing import Any

from gpusize_policies.finding import Severity
from gpusize_policies.output.json import FORMAT_VERSION

SEVERITY = {"enum": [severity.value for severity in Severity]}
TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}


def schema() -> dict[str, Any]:
    """Return the schema; within one format version only optional keys are added."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Report of gpusize check",
        **_object(
            {
                "formatVersion": {"const": FORMAT_VERSION},
                "gpusizeVersion": TEXT,
                "catalogVersion": {**TEXT, "description": "Newest date in the shipped data."},
                "catalogDigest": {**TEXT, "description": "Digest of all data with overlays."},
                "today": {**TEXT, "format": "date", "description": "Prices were judged at it."},
                "failOn": SEVERITY,
                "summary": _summary(),
                "workloads": {"type": "array", "items": _workload()},
                "problems": {"type": "array", "items": _problem()},
            },
            {
                "whole": _whole(),
                "environment": {**TEXT, "description": "Environment whose settings held."},
            },
        ),
    }


def _summary() -> dict[str, Any]:
    counts = {severity.value: COUNT for severity in Severity}
    fails = {"type": "boolean", "description": "Whether a finding reaches `failOn`."}
    waived = {**COUNT, "description": "How many of the findings are waived; none of them fails."}
    known = {**COUNT, "description": "How many of them are in the baseline; none of them fails."}
    more = {"waived": waived, "inBaseline": known}
    return _object({"workloads": COUNT, **counts, "fails": fails}, more)


def _whole() -> dict[str, Any]:
    return {
        "type": "array",
        "description": "What concerns the run and no single workload, such as its settings.",
        "items": _finding({"subject": _object({}, {"resource": TEXT, **_place()})}),
    }


def _workload() -> dict[str, Any]:
    decision = {
        "type": ["object", "null"],
        "description": "What was decided and why, as `gpusize resolve --format json` prints it.",
    }
    return _object(
        {
            "name": TEXT,
            "subject": _object({}, {"resource": TEXT, **_place()}),
            "findings": {"type": "array", "items": _finding()},
            "decision": decision,
        }
    )


def _finding(more: dict[str, Any] | None = None) -> dict[str, Any]:
    numbers = {
        "type": "object",
        "description": "The numbers of the message; each key ends in its unit.",
        "additionalProperties": {"type": ["number", "string"]},
    }
    return _object(
        {
            "code": {**TEXT, "pattern": "^GPU[0-9]{3}$"},
            "name": {**TEXT, "pattern": "^[a-z0-9-]+$"},
            "severity": SEVERITY,
            "message": {**TEXT, "maxLength": 400},
            "fix": TEXT,
            "numbers": numbers,
            "docs": TEXT,
            **(more or {}),
        },
        {"waivedBy": {**TEXT, "description": "Id of the waiver that accepts the finding."}},
    )


def _problem() -> dict[str, Any]:
    return _object({"message": TEXT}, {"fix": TEXT, **_place()})


def _place() -> dict[str, Any]:
    from_one = {"type": "integer", "minimum": 1}
    return {"file": TEXT, "path": TEXT, "line": from_one, "column": from_one}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": {**required, **(optional or {})},
    }
