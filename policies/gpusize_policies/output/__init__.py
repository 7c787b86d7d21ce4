"""Writers of findings, one format per module.

A format is one module with `write(report, style) -> str`, and one line in `FORMATS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusize_policies.report import Report, Style

FORMATS: dict[str, str] = {
    "text": "for people",
    "json": "for programs; `gpusize schema report` describes it",
}
"""Formats of a report, each the name of a module here."""


def write(name: str, report: Report, style: Style) -> str:
    """Write a report in one of `FORMATS`; only that format's module is imported."""
    from importlib import import_module

    module = import_module(f"{__name__}.{name}")
    text: str = module.write(report, style)
    return text
