"""Previews a good and a bad example on the real engine: `python -m tools.engine.preview`.

The good one must pass and the bad one must fail by policy findings, or this fails. Works on
copies, with a state of their own and a stand-in for AWS: nothing is left behind, no account is
used. Where no engine can be had, `gpusize check` judges the same two examples.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.engine.environment import engine_environ, mirror, use_fake_aws
from tools.engine.find import INSTALL_PAGE, ROOT, Engine, find_engine

STACK = "dev"
PREVIEW = ["pulumi", "preview", "--non-interactive", "--policy-pack", "../../policies"]
# What `gpusize check` reads, the best first.
DECLARATIONS = ("gpusize.yaml", "Pulumi.yaml")
# How the engine shows a violation that stops a deployment, and how `gpusize check` ends on one.
MANDATORY = "[mandatory]"
CHECK_FOUND = 1


@dataclass(frozen=True, slots=True)
class Story:
    """An example and what its preview must show."""

    name: str
    passes: bool

    @property
    def path(self) -> Path:
        """Return the example's folder, from the root."""
        return Path("examples", self.name)

    def verdict(self, exit_code: int, text: str) -> str:
        """Say what is wrong with a preview; empty when it went as it should."""
        if self.passes:
            return "" if exit_code == 0 else f"it should pass, but ended with exit code {exit_code}"
        if exit_code == 0:
            return "it should fail, but passed"
        return "" if MANDATORY in text else "it failed, but not by a finding of the policy pack"

    def check_verdict(self, exit_code: int) -> str:
        """Say what is wrong with a `gpusize check`; empty when it went as it should."""
        wanted = 0 if self.passes else CHECK_FOUND
        return "" if exit_code == wanted else f"exit code {exit_code} instead of {wanted}"


STORIES = (Story("chat-8b-l4", passes=True), Story("chat-70b-pinned", passes=False))


def stream(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> tuple[int, str]:
    """Run a command, showing its output as it comes; return its exit code and that output."""
    lines = []
    with subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines)


def preview(story: Story, engine: Engine, root: Path = ROOT) -> str:
    """Preview a copy of an example; return what went wrong, if anything."""
    with tempfile.TemporaryDirectory(prefix="gpusize-preview-") as scratch:
        environ = engine_environ(engine, Path(scratch, "engine"), root=root)
        folder = mirror(root / story.path, Path(scratch, "repository"), root)
        use_fake_aws(folder, root)
        made = subprocess.run(
            ["pulumi", "stack", "init", STACK, "--non-interactive"],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode != 0:
            return f"pulumi stack init: {made.stderr.strip()}"
        print(f"$ cd {story.path} && {' '.join(PREVIEW)}", flush=True)
        return story.verdict(*stream(PREVIEW, folder, environ))


def check(story: Story, root: Path = ROOT) -> str:
    """Judge an example without an engine; return what went wrong, if anything."""
    gpusize = Path(sys.executable).with_name("gpusize")
    names = (story.path / name for name in DECLARATIONS)
    file = next((name for name in names if (root / name).is_file()), story.path)
    print(f"$ gpusize check {file}", flush=True)
    done = subprocess.run([gpusize, "check", file], cwd=root, check=False)
    return story.check_verdict(done.returncode)


def main() -> int:
    """Go through the stories and sum them up."""
    missing = [str(story.path) for story in STORIES if not (ROOT / story.path).is_dir()]
    if missing:
        print(f"preview: {' and '.join(missing)} missing from this clone", file=sys.stderr)
        return 1
    engine = find_engine()
    if engine is None:
        print(
            "preview: no Pulumi engine: install the Pulumi CLI "
            f"({INSTALL_PAGE}), or Go to build one.\n"
            "preview: until then, the same examples by `gpusize check`:",
            flush=True,
        )
    problems = 0
    summary = []
    for story in STORIES:
        print(flush=True)
        problem = preview(story, engine) if engine else check(story)
        problems += bool(problem)
        expected = "passed" if story.passes else "was stopped"
        summary.append(f"preview: {story.path} {problem or f'{expected}, as it should'}")
    print("", *summary, sep="\n", flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
