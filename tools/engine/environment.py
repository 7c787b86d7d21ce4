"""Where the engine runs: an environment of its own, and copies of programs that it may write to."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from tools.engine.find import ROOT, Engine

# Of the caller's own cloud and Pulumi account nothing may reach a run.
FOREIGN = ("PULUMI_", "AWS_")

FAKE_AWS = Path("tests", "fakes", "aws")
FAKE_KUBERNETES = Path("tests", "fakes", "kubernetes")

# What Pulumi and Python leave in a program's folder.
LEFTOVERS = shutil.ignore_patterns("Pulumi.*.yaml", "__pycache__", "venv", "node_modules", "sdks")


def engine_environ(
    engine: Engine, folder: Path, base: Mapping[str, str] = os.environ, root: Path = ROOT
) -> dict[str, str]:
    """Return an environment with a home and a state of its own in `folder`, and no account."""
    home, state = folder / "home", folder / "state"
    home.mkdir(parents=True, exist_ok=True)
    state.mkdir(exist_ok=True)
    path = [str(root / ".venv" / "bin"), str(engine.pulumi.parent), base.get("PATH", os.defpath)]
    return {
        **{name: value for name, value in base.items() if not name.startswith(FOREIGN)},
        "PATH": os.pathsep.join(path),
        "PULUMI_HOME": str(home),
        "PULUMI_BACKEND_URL": f"file://{state}",
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_SKIP_CONFIRMATIONS": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_DISABLE_REGISTRY_RESOLVE": "true",
        "PULUMI_DIY_BACKEND_DISABLE_CHECKPOINT_BACKUPS": "true",
        "NO_COLOR": "1",
    }


def mirror(program: Path, into: Path, root: Path = ROOT) -> Path:
    """Copy a program's folder and link all around it, so that its relative paths still hold."""
    place, copy = root, into
    for part in program.relative_to(root).parts:
        copy.mkdir(parents=True, exist_ok=True)
        for neighbour in place.iterdir():
            link = copy / neighbour.name
            if neighbour.name != part and not link.is_symlink():
                link.symlink_to(neighbour)
        place, copy = place / part, copy / part
    shutil.copytree(program, copy, ignore=LEFTOVERS, dirs_exist_ok=True)
    return copy


KUBERNETES = "kubernetes:"
"""Begin of the types of that provider: it is started as soon as it is named."""


def use_fake_aws(program: Path, root: Path = ROOT) -> None:
    """Wire the stand-in aws provider into a program that names no plugins of its own."""
    project = program / "Pulumi.yaml"
    text = project.read_text(encoding="utf-8")
    if re.search(r"^plugins:", text, re.MULTILINE):
        return
    # At the end, so that the engine's line numbers stay those of the original.
    fakes = {"aws": FAKE_AWS} | ({"kubernetes": FAKE_KUBERNETES} if KUBERNETES in text else {})
    wiring = "\nplugins:\n  providers:\n" + "".join(
        f"    - name: {name}\n      path: {root / path}\n" for name, path in fakes.items()
    )
    project.write_text(text.rstrip("\n") + wiring, encoding="utf-8")
