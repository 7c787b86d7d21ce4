"""Findings for programs: the shape of `report.schema.json`, which only grows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gpusize_policies.finding import Severity

if TYPE_CHECKING:
    from gpusize_catalog.problems import Problem
    from gpusize_policies.finding import Finding, Subject
    from gpusize_policies.report import Judged, Report, Style

FORMAT_VERSION = 1


def write(report: Report, style: Style) -> str:  # noqa: ARG001 (all writers take a style)
    """Return one JSON object."""
    return json.dumps(to_data(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_data(report: Report) -> dict[str, Any]:
    """Return the report as plain data with camelCase keys, in a stable order."""
    return {
        "formatVersion": FORMAT_VERSION,
        "gpusizeVersion": report.gpusize_version,
        "catalogVersion": report.catalog_version,
        "catalogDigest": report.catalog_digest,
        "today": report.today,
        "failOn": report.fail_on.value,
        **({"environment": report.environment} if report.environment else {}),
        "summary": {
            "workloads": len(report.judged),
            **{severity.value: report.count(severity) for severity in Severity},
            "waived": report.waived,
            "inBaseline": report.known,
            "fails": report.fails,
        },
        "workloads": [_judged(judged) for judged in report.judged],
        "whole": [
            {**_finding(finding), "subject": _subject(finding.subject)} for finding in report.whole
        ],
        "problems": [problem_data(problem) for problem in report.problems],
    }


def problem_data(problem: Problem) -> dict[str, Any]:
    """Return one problem of the input as plain data."""
    fields = {
        "path": problem.path,
        "message": problem.message,
        "fix": problem.fix,
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
    }
    return _present(fields)


def _judged(judged: Judged) -> dict[str, Any]:
    from gpusize.explain_data import to_data as explain

    resolution = judged.resolution
    return {
        "name": judged.subject.workload,
        "subject": _subject(judged.subject),
        "findings": [_finding(finding) for finding in judged.findings],
        "decision": explain(resolution) if resolution else None,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "fix": finding.fix,
        "numbers": dict(finding.numbers),
        "docs": finding.docs,
        **({"waivedBy": finding.waived_by} if finding.waived_by else {}),
        **({"inBaseline": True} if finding.in_baseline else {}),
    }


def _subject(subject: Subject) -> dict[str, Any]:
    fields = {
        "resource": subject.resource,
        "file": subject.file,
        "path": subject.path,
        "line": subject.line,
        "column": subject.column,
    }
    return _present(fields)


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, "")}
