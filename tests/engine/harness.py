"""Runs Pulumi programs, plugins and policy packs on the real engine, without a cloud account.

A `Workshop` makes programs and packs in a temporary folder; a `Program` is previewed, deployed
and destroyed; each command gives a `Run`: exit code, text, policy violations, resource changes.
"""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tools.engine.environment import engine_environ, mirror, use_fake_aws
from tools.engine.find import ROOT, Engine

STACK = "dev"
POLICIES = ROOT / "policies"
PLUGIN = ROOT / "plugin"
VENV = ROOT / ".venv"

# Far above what any command takes: a hanging engine must not hang the suite.
TIMEOUT_SECONDS = 180


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that a policy reported."""

    policy: str
    message: str
    level: str
    severity: str
    urn: str
    pack: str

    @property
    def resource(self) -> str:
        """Return the name of the resource."""
        return self.urn.rpartition("::")[2]


@dataclass(frozen=True, slots=True)
class Run:
    """How one command of the engine ended."""

    command: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    events: tuple[dict[str, Any], ...] = ()

    @property
    def ok(self) -> bool:
        """Tell whether the command succeeded."""
        return self.exit_code == 0

    @property
    def text(self) -> str:
        """Return everything that was printed."""
        return self.stdout + self.stderr

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Return what policies reported, in the engine's order."""
        found = (event["policyEvent"] for event in self.events if "policyEvent" in event)
        return tuple(
            Violation(
                policy=event["policyName"],
                message=event["message"].strip(),
                level=event["enforcementLevel"],
                severity=event.get("severity", ""),
                urn=event.get("resourceUrn", ""),
                pack=event["policyPackName"],
            )
            for event in found
        )

    @property
    def policies(self) -> Counter[str]:
        """Count the violations of each policy."""
        return Counter(violation.policy for violation in self.violations)

    @property
    def changes(self) -> dict[str, int]:
        """Count the resources by what is, or would be, done to them (`create`, `same`, …)."""
        for event in self.events:
            if "summaryEvent" in event:
                return dict(event["summaryEvent"]["resourceChanges"])
        return {}

    def succeed(self) -> Run:
        """Return self when the command succeeded; else fail with what it printed."""
        assert self.ok, f"{' '.join(self.command)}: exit code {self.exit_code}\n{self.text}"
        return self

    def fail(self) -> Run:
        """Return self when the command failed; else fail with what it printed."""
        assert not self.ok, f"{' '.join(self.command)} succeeded\n{self.text}"
        return self


def parse_events(text: str) -> tuple[dict[str, Any], ...]:
    """Read one engine event a line."""
    return tuple(json.loads(line) for line in text.splitlines() if line.startswith("{"))


@dataclass(frozen=True, slots=True)
class Program:
    """A program in a folder of its own, with a stack of its own."""

    folder: Path
    environ: Mapping[str, str]

    def pulumi(self, *arguments: str, environ: Mapping[str, str] | None = None) -> Run:
        """Run any `pulumi` command in the program's folder."""
        return run(arguments, self.folder, {**self.environ, **(environ or {})})

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command and leave it running; what it prints is dropped."""
        self._ensure_stack()
        return subprocess.Popen(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.folder,
            env=dict(self.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def preview(
        self,
        *arguments: str,
        policy_pack: Path | None = POLICIES,
        policy_pack_config: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Run:
        """Preview, judged by the repository's pack unless told otherwise."""
        pack = self._pack_arguments(policy_pack, policy_pack_config)
        return self._operate("preview", *pack, *arguments, environ=environ)

    def up(
        self,
        *arguments: str,
        policy_pack: Path | None = POLICIES,
        policy_pack_config: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Run:
        """Deploy, judged by the repository's pack unless told otherwise."""
        pack = self._pack_arguments(policy_pack, policy_pack_config)
        return self._operate("up", "--yes", "--skip-preview", *pack, *arguments, environ=environ)

    def destroy(self, *arguments: str) -> Run:
        """Take everything down."""
        return self._operate("destroy", "--yes", "--skip-preview", *arguments)

    def export(self) -> dict[str, Any]:
        """Return the state of the stack."""
        state: dict[str, Any] = json.loads(self.pulumi("stack", "export").succeed().stdout)
        return state

    def outputs(self) -> dict[str, Any]:
        """Return the outputs of the stack as of the last `up`, secrets in plain text."""
        shown = self.pulumi("stack", "output", "--json", "--show-secrets").succeed()
        outputs: dict[str, Any] = json.loads(shown.stdout)
        return outputs

    def set_config(self, key: str, value: str, *, secret: bool = False) -> None:
        """Set a configuration value of the stack."""
        self._ensure_stack()
        self.pulumi("config", "set", key, value, *(["--secret"] if secret else [])).succeed()

    def policy_analyze(
        self,
        file: Path | None = None,
        *,
        policy_pack: Path = POLICIES,
        policy_pack_config: Mapping[str, Any] | None = None,
        as_json: bool = True,
    ) -> Run:
        """Judge a state file, or the state of this stack; no program and no provider runs."""
        if file is None:
            file = self.folder / "state.json"
            file.write_text(json.dumps(self.export()), encoding="utf-8")
        pack = self._pack_arguments(policy_pack, policy_pack_config)
        shape = ["--json"] if as_json else []
        done = self.pulumi("policy", "analyze", "--file", str(file), *pack, *shape)
        events = parse_events(done.stdout) if as_json else ()
        return Run(done.command, done.exit_code, done.stdout, done.stderr, events)

    def _ensure_stack(self) -> None:
        marker = self.folder / ".pulumi-stack"
        if not marker.exists():
            self.pulumi("stack", "init", STACK, "--non-interactive").succeed()
            marker.touch()

    def _pack_arguments(
        self, policy_pack: Path | None, config: Mapping[str, Any] | None
    ) -> Sequence[str]:
        if policy_pack is None:
            return []
        arguments = ["--policy-pack", str(policy_pack)]
        if config is not None:
            file = self.folder / "policy-pack-config.json"
            file.write_text(json.dumps(config), encoding="utf-8")
            arguments += ["--policy-pack-config", str(file)]
        return arguments

    def _operate(self, *arguments: str, environ: Mapping[str, str] | None = None) -> Run:
        self._ensure_stack()
        log = self.folder / ".pulumi-events"
        log.unlink(missing_ok=True)
        # The event log is a debugging option, and the one way to have both the text that a
        # user sees and every policy event of a single run.
        done = self.pulumi(
            *arguments,
            f"--event-log={log}",
            "--non-interactive",
            environ={"PULUMI_DEBUG_COMMANDS": "true", **(environ or {})},
        )
        events = parse_events(log.read_text(encoding="utf-8")) if log.exists() else ()
        return Run(done.command, done.exit_code, done.stdout, done.stderr, events)


def run(arguments: Sequence[str], folder: Path, environ: Mapping[str, str]) -> Run:
    """Run `pulumi` to its end."""
    done = subprocess.run(
        ["pulumi", *arguments],
        cwd=folder,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return Run(("pulumi", *arguments), done.returncode, done.stdout, done.stderr)


@dataclass(slots=True)
class Workshop:
    """Makes programs, packs and plugins in a folder, all for one engine."""

    folder: Path
    environ: Mapping[str, str]
    _made: int = field(default=0)

    def yaml(self, project: str | Mapping[str, Any], **files: str) -> Program:
        """Make a YAML program of `resources`, `outputs`, …; name and runtime are added."""
        read = yaml.safe_load(project) if isinstance(project, str) else project
        return self._program({"runtime": "yaml", **read}, files)

    def python(self, source: str, project: Mapping[str, Any] | None = None) -> Program:
        """Make a Python program, run in the repository's environment."""
        runtime = {"name": "python", "options": options_of_venv()}
        return self._program({"runtime": runtime, **(project or {})}, {"__main__.py": source})

    def example(self, name: str) -> Program:
        """Copy one of the repository's examples, with the stand-in aws provider."""
        copy = mirror(ROOT / "examples" / name, self._new("example"))
        use_fake_aws(copy)
        return self._own(copy)

    def pack(self, source: str, **project: Any) -> Path:
        """Make a policy pack."""
        runtime = {"name": "python", "options": options_of_venv()}
        return self._write("PulumiPolicy.yaml", {"runtime": runtime, **project}, source)

    def plugin(self, source: str, **project: Any) -> Path:
        """Make a component plugin."""
        runtime = {"name": "python", "options": options_of_venv()}
        return self._write("PulumiPlugin.yaml", {"runtime": runtime, **project}, source)

    def _new(self, kind: str) -> Path:
        self._made += 1
        folder = self.folder / f"{kind}-{self._made}"
        folder.mkdir(parents=True)
        return folder

    def _write(self, name: str, project: Mapping[str, Any], source: str) -> Path:
        folder = self._new(Path(name).stem)
        write_files(folder, {name: yaml.safe_dump(dict(project)), "__main__.py": source})
        return folder

    def _program(self, project: Mapping[str, Any], files: Mapping[str, str]) -> Program:
        folder = self._new("program")
        whole = {"name": "app", **project}
        # The plugin is started as soon as it is named, so name it only where it is used.
        if "gpusize:" in yaml.safe_dump(whole) and "packages" not in whole:
            whole["packages"] = {"gpusize": str(PLUGIN)}
        write_files(folder, {"Pulumi.yaml": yaml.safe_dump(whole, sort_keys=False), **files})
        use_fake_aws(folder)
        return self._own(folder)

    def _own(self, folder: Path) -> Program:
        state = folder / ".pulumi-state"
        state.mkdir()
        return Program(folder, {**self.environ, "PULUMI_BACKEND_URL": f"file://{state}"})


def options_of_venv() -> dict[str, str]:
    """Return runtime options that name the repository's environment."""
    return {"toolchain": "pip", "virtualenv": str(VENV)}


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files, their text dedented."""
    for name, text in files.items():
        (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")


def shared_environ(engine: Engine, folder: Path) -> dict[str, str]:
    """Return the environment that all programs of a test session share."""
    return {**engine_environ(engine, folder), "GPUSIZE_TEST_RUN": str(os.getpid())}
