"""Finds the Pulumi engine this clone works with: an installed CLI, or the one it built."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INSTALL_PAGE = "https://www.pulumi.com/docs/install/"

# `pulumi policy analyze --file` (3.249) and the component schema of the Python SDK we pin.
OLDEST_CLI = (3, 255)

HOSTS = ("pulumi-language-python", "pulumi-language-yaml")
BUILT = ("pulumi", *HOSTS)


@dataclass(frozen=True, slots=True)
class Engine:
    """A `pulumi` command with its language hosts."""

    pulumi: Path
    installed: bool


def built_folder(root: Path) -> Path:
    """Return where this clone keeps an engine it built."""
    return root / ".engine" / "bin"


def parse_version(text: str) -> tuple[int, ...] | None:
    """Read the first dotted number of `v3.274.1`, `go1.26.8` or `3.300.0-dev.1`."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in found.group().split(".")) if found else None


def cli_version(pulumi: Path) -> str:
    """Ask a `pulumi` command for its version; empty when it does not answer."""
    quiet = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        answer = subprocess.run(
            [pulumi, "version"], capture_output=True, text=True, timeout=60, env=quiet, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def search_path(root: Path, environ: Mapping[str, str]) -> str:
    """Return PATH without the folder of the built engine, which is not an installed one."""
    own = str(built_folder(root))
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if folder != own)


def refusal(version: str, missing_hosts: list[str]) -> str:
    """Say why an installed CLI does not do; empty when it does."""
    known = parse_version(version)
    if known is None:
        return f"it does not tell its version (said {version!r})"
    if known < OLDEST_CLI:
        return f"{version} is older than {'.'.join(map(str, OLDEST_CLI))}"
    if missing_hosts:
        return f"it comes without {' and '.join(missing_hosts)}"
    return ""


def installed_engine(
    root: Path,
    environ: Mapping[str, str],
    version_of: Callable[[Path], str] = cli_version,
) -> tuple[Engine | None, str]:
    """Look for a usable CLI on PATH; else say what is wrong with the one there, if any."""
    path = search_path(root, environ)
    found = shutil.which("pulumi", path=path)
    if found is None:
        return None, ""
    # Package managers link `pulumi` alone into PATH: its hosts lie beside the link's target.
    beside = os.pathsep.join([str(Path(found).resolve().parent), path])
    missing = [host for host in HOSTS if shutil.which(host, path=beside) is None]
    version = version_of(Path(found))
    reason = refusal(version, missing)
    if reason:
        return None, f"the installed {found} is not used: {reason}"
    return Engine(Path(found), installed=True), version


def built_engine(root: Path) -> Engine | None:
    """Return the engine that was built here, when it is whole."""
    folder = built_folder(root)
    if all(os.access(folder / name, os.X_OK) for name in BUILT):
        return Engine(folder / "pulumi", installed=False)
    return None


def find_engine(root: Path = ROOT, environ: Mapping[str, str] = os.environ) -> Engine | None:
    """Return the engine to use, an installed one first; builds nothing."""
    return installed_engine(root, environ)[0] or built_engine(root)
