"""The outputs that pages by hand show, written anew by running the commands above them."""

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
FILE = re.compile(r"# ([\w-]+\.yaml)\n")
"""First line of a block that is a file: its name."""


def render(page: str = "README.md") -> str:
    """Return a page with what its commands print by today's code, cut where it was cut."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = DECLARED.findall(text)
    files = {found[1]: block for block in blocks if (found := FILE.match(block))}

    def again(found: re.Match[str]) -> str:
        command, subcommand, file, shown = found.groups()
        printed = _printed(subcommand, file, files)
        if shown.endswith(CUT):
            lines = len(shown.splitlines()) - 1
            printed = "".join(printed.splitlines(keepends=True)[:lines]) + CUT
        return f"```\n{command}{printed}```"

    return SHOWN.sub(again, text)


def _printed(subcommand: str, file: str, files: dict[str, str]) -> str:
    before = Path.cwd()
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out):
                main([subcommand, file, *DAY])
        finally:
            os.chdir(before)
    return out.getvalue()
