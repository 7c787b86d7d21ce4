"""Sees to it that there is a Pulumi engine: uses an installed CLI, else builds one with Go.

    python -m tools.engine.build

Needs the standard library alone, since it may run before any environment is made. Exit code 3
means that neither a Pulumi CLI nor Go is there; anything else that is not 0, a broken build.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.engine.find import INSTALL_PAGE, ROOT, built_folder, installed_engine, parse_version

EXIT_NO_ENGINE = 3

# From this version on Go fetches the toolchain that a go.mod asks for, unless told not to.
FIRST_SELF_UPDATING_GO = (1, 21)


class NoEngineError(Exception):
    """Neither a Pulumi CLI nor a Go that could build one."""


class BuildError(Exception):
    """Go did not build what it should."""


@dataclass(frozen=True, slots=True)
class GoTool:
    """One program that Go builds from a small module of ours."""

    name: str
    folder: str
    package: str
    module: str
    version_variable: str

    def go_mod(self, root: Path) -> Path:
        """Return the module file that pins everything this tool is built from."""
        return root / "tools" / "engine" / self.folder / "go.mod"


# Two modules: one would lift the pulumi version that the YAML host is released with.
TOOLS = (
    GoTool(
        name="pulumi",
        folder="cli",
        package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        module="github.com/pulumi/pulumi/pkg/v3",
        version_variable="github.com/pulumi/pulumi/sdk/v3/go/common/version.Version",
    ),
    GoTool(
        name="pulumi-language-yaml",
        folder="yaml",
        package="github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml",
        module="github.com/pulumi/pulumi-yaml",
        version_variable="github.com/pulumi/pulumi-yaml/pkg/version.Version",
    ),
)

# The Python language host is no Go tool: its module is not served, so a stand-in of ours
# takes its place. A shell script, because a `#!` line breaks on long paths and on spaces.
HOST_SCRIPT = """\
#!/bin/sh
# Starts the stand-in Python language host of this clone. Written by tools/engine/build.py.
root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd -P)
python="$root/.venv/bin/python"
if [ ! -x "$python" ]; then
    echo "pulumi-language-python: $python is missing: run \\`make setup\\`" >&2
    exit 1
fi
exec "$python" -u "$root/tools/engine/host" "$@"
"""


def required_version(go_mod: str, module: str) -> str:
    """Read the version of a module that a go.mod asks for."""
    found = re.search(rf"^\s*(?:require\s+)?{re.escape(module)}\s+(v\S+)", go_mod, re.MULTILINE)
    if found is None:
        raise BuildError(f"go.mod does not require {module}")
    return found.group(1)


def required_go(go_mod: str) -> tuple[int, ...]:
    """Read the oldest Go that a go.mod allows."""
    found = re.search(r"^go\s+(\S+)", go_mod, re.MULTILINE)
    version = parse_version(found.group(1)) if found else None
    if version is None:
        raise BuildError("go.mod names no Go version")
    return version


def build_flags(tool: GoTool, version: str) -> list[str]:
    """Return what makes a small, reproducible binary that knows its version."""
    return [
        "-trimpath",
        "-tags=osusergo grpcnotrace",
        # Without its version the engine passes every version check for the wrong reason.
        f"-ldflags=-s -w -X {tool.version_variable}={version}",
    ]


def digest(go_mod: str, go_sum: str, flags: Sequence[str]) -> str:
    """Name a build by everything that decides what it makes."""
    return hashlib.sha256("\0".join([go_mod, go_sum, *flags]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Go:
    """A `go` command and what it says of itself."""

    command: str
    version: str
    toolchain: str

    def serves(self, needed: tuple[int, ...]) -> bool:
        """Tell whether it builds a module that needs this Go, by itself or by fetching one."""
        own = parse_version(self.version) or ()
        updates_itself = own >= FIRST_SELF_UPDATING_GO and not self.toolchain.startswith("local")
        return own >= needed or updates_itself


def find_go(environ: Mapping[str, str]) -> Go | None:
    """Return the `go` on PATH."""
    command = shutil.which("go", path=environ.get("PATH", os.defpath))
    if command is None:
        return None
    told = subprocess.run(
        [command, "env", "-json", "GOVERSION", "GOTOOLCHAIN"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(environ),
    )
    said = json.loads(told.stdout) if told.returncode == 0 else {}
    return Go(command, said.get("GOVERSION", ""), said.get("GOTOOLCHAIN", ""))


def usable_go(go: Go | None, needed: tuple[int, ...], cli_remark: str) -> Go:
    """Return a Go that can build the engine, or say what to install."""
    if go is not None and go.serves(needed):
        return go
    wanted = ".".join(map(str, needed))
    why = "Go is not installed" if go is None else f"{go.version or go.command} is too old"
    raise NoEngineError(
        f"{cli_remark or 'no Pulumi CLI on PATH'}; {why}, {wanted} or newer could build it.\n"
        f"Install the Pulumi CLI ({INSTALL_PAGE}) or Go {wanted}."
    )


def write_at_once(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file so that nobody ever reads half of it."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(mode)
    fresh.replace(path)


def install_host(folder: Path) -> None:
    """Put the stand-in Python language host next to the engine."""
    script = folder / "pulumi-language-python"
    if not os.access(script, os.X_OK) or script.read_text(encoding="utf-8") != HOST_SCRIPT:
        write_at_once(script, HOST_SCRIPT, mode=0o755)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one build run at a time in this clone."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def read_stamps(path: Path) -> dict[str, str]:
    """Return the digest of each tool that was built; none when the file is unreadable."""
    try:
        stamps = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamps if isinstance(stamps, dict) else {}


def go_build(go: Go, tool: GoTool, root: Path, flags: Sequence[str], output: Path) -> None:
    """Build one tool; the binary appears whole or not at all."""
    fresh = output.with_name(f".{output.name}.{os.getpid()}")
    command = [go.command, "build", *flags, "-o", str(fresh), tool.package]
    try:
        built = subprocess.run(
            command,
            cwd=tool.go_mod(root).parent,
            env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"},
            check=False,
        )
        if built.returncode != 0:
            raise BuildError(f"go build of {tool.name} failed with exit code {built.returncode}")
        fresh.replace(output)
    finally:
        fresh.unlink(missing_ok=True)


def say(line: str) -> None:
    """Print one line at once, so that it stands before what Go prints."""
    print(f"engine: {line}", flush=True)


def build_engine(root: Path, environ: Mapping[str, str], cli_remark: str = "") -> None:
    """Build what is missing or out of date in `.engine/bin`."""
    folder = built_folder(root)
    folder.mkdir(parents=True, exist_ok=True)
    stamp_file = folder.parent / "stamps.json"
    go: Go | None = None
    with locked(folder.parent / "lock"):
        stamps = read_stamps(stamp_file)
        versions = []
        for tool in TOOLS:
            go_mod = tool.go_mod(root)
            pins = go_mod.read_text(encoding="utf-8")
            version = required_version(pins, tool.module)
            versions.append(f"{tool.name} {version}")
            flags = build_flags(tool, version)
            wanted = digest(pins, go_mod.with_name("go.sum").read_text(encoding="utf-8"), flags)
            output = folder / tool.name
            if stamps.get(tool.name) == wanted and os.access(output, os.X_OK):
                continue
            go = go or usable_go(find_go(environ), required_go(pins), cli_remark)
            say(f"building {versions[-1]} with {go.version} (minutes at first, then seconds)")
            go_build(go, tool, root, flags, output)
            stamps[tool.name] = wanted
            write_at_once(stamp_file, json.dumps(stamps, indent=2, sort_keys=True) + "\n")
        install_host(folder)
    say(f"{', '.join(versions)} in {folder.relative_to(root)}")


def main(
    root: Path = ROOT,
    environ: Mapping[str, str] = os.environ,
    find: Callable[..., tuple[object | None, str]] = installed_engine,
) -> int:
    """Prepare the engine and say in a line what was done."""
    engine, remark = find(root, environ)
    if engine is not None:
        say(f"the installed Pulumi CLI {remark}")
        return 0
    if remark:
        say(remark)
    try:
        build_engine(root, environ, remark)
    except NoEngineError as problem:
        print(f"engine: {problem}", file=sys.stderr)
        return EXIT_NO_ENGINE
    except BuildError as problem:
        print(f"engine: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
