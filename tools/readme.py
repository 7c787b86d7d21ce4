"""The outputs that the README shows, written anew by running the commands above them."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

from gpusize_policies.cli import main

ROOT = Path(__file__).parents[1]
DAY = ("--today", "2026-11-30")
"""The day of every price that is shown."""
CUT = "  …\n"
"""Stands where an output goes on."""
SHOWN = re.compile(r"^```\n(\$ gpusize (\w+) (\S+)\n)(.*?)^```$", re.MULTILINE | re.DOTALL)
DECLARED = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def render() -> str:
    """Return the README with what its commands print today's code, cut where it was cut."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    files = {block.partition("\n")[0][2:]: block for block in DECLARED.findall(text)}

    def again(found: re.Match[str]) -> str:
        command, subcommand, file, shown = found.groups()
        printed = _printed(subcommand, file, files[file])
        if shown.endswith(CUT):
            lines = len(shown.splitlines()) - 1
            printed = "".join(printed.splitlines(keepends=True)[:lines]) + CUT
        return f"```\n{command}{printed}```"

    return SHOWN.sub(again, text)


def _printed(subcommand: str, file: str, declared: str) -> str:
    before = Path.cwd()
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, file).write_text(declared, encoding="utf-8")
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out):
                main([subcommand, file, *DAY])
        finally:
            os.chdir(before)
    return out.getvalue()
